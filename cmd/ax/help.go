package main

import "github.com/alecthomas/kong"

// flagHelp holds the texts of flags that are too long for a tag.
func flagHelp() kong.Vars {
	return kong.Vars{
		"tasks": "List and show tasks; cancel, retry, trigger, resolve and reschedule them.",
		"jobs":  "Apply, compare, export and list jobs; pause, resume and trigger them.",
		"db": "sqlite:PATH, postgres://... or mysql://... (default: sqlite:/var/lib/ax/ax.db as " +
			"root, else ax/ax.db in $XDG_STATE_HOME or ~/.local/state).",
		"dev_db": "sqlite:PATH, postgres://... or mysql://... (default: a new SQLite file in the " +
			"temporary folder).",
		"keys_file": "Encrypt and show payloads with the keys of this file: one on a line, its id " +
			"and 32 bytes in base64.",
		"cron_lang": "en or zh (default: as $LC_ALL, $LC_MESSAGES or $LANG says).",
		"cron_tz":   "Zone of an expression without CRON_TZ=.",
		"doctor_watch": "If tasks wait for long, look again after this time to see whether they " +
			"move, 0s to 1m.",
		"submit_payload": "JSON text, @FILE for the bytes of a file, or - for those of standard " +
			"input.",
		"submit_at":      "When it is due, such as 2030-01-31T22:00:00Z (default: at once).",
		"submit_timeout": "Hard time-out of an attempt, or none (default: as the kind says).",
		"submit_once":    "Never run it again by itself: no retries, HELD if its end is unknown.",
		"submit_expires": "DEAD if no attempt has started by then: a time, or a duration from now.",
		"submit_id":      "The task's id, which makes it harmless to repeat the command.",
		"submit_overlap": "If the overlap key is busy when the task is due: queue (default), skip or " +
			"replace.",
		"submit_late":     "SKIPPED if it is not begun within so long of when it was due.",
		"submit_lifetime": "HELD if an attempt gives no result within so long.",
		"run_file": "Crontab file, a folder of the form of /etc/cron.d, or a file of jobs: .yaml, " +
			".yml or .json; may be given again.",
		"run_system": "Lines have a user after the time fields. Always so for /etc/crontab, " +
			"/etc/cron.d and folders.",
		"run_tz":    "Zone of lines without CRON_TZ and of jobs without tz (default: the machine's).",
		"import_tz": "Write this zone into the file, for lines without CRON_TZ.",
		"run_name":  "Tells this set of files from others in the same database.",
		"run_grace": "At a stop commands may run on this long; then SIGTERM, and SIGKILL 1s " +
			"later.",
		"resolve_as": "rerun: run it again, in the same run; succeeded: it has done its work; dead: " +
			"give it up.",
		"trigger_again": "Also tasks that are SUCCEEDED or HELD: they do their work once more.",
		"act_since": "Many: those whose state has changed since then: 2h is two hours ago; or a time " +
			"such as 2030-01-31T22:00:00Z.",
		"act_until":     "Many: those whose state has not changed since then; as --since.",
		"reschedule_at": "When they are due, such as 2030-01-31T22:00:00Z, or 2h from now.",
		"list_state":    "Only these states, in any case: SCHEDULED, RUNNING, DEAD and so on.",
		"jobs_file":     "YAML or JSON; - is standard input.",
		"jobs_source":   "Whose jobs these are, if the file does not say: the label ax.source.",
		"jobs_until":    "When it goes on by itself, such as 2030-01-31T22:00:00Z, or 2h from now.",
		"jobs_prune":    "Delete jobs with this source that are no longer in the file.",
		"list_before":   "Only tasks older than this one: the last of the page before.",
	}
}
