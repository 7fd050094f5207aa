//go:build ax_plant

package plant

// All lists the faults.
func All() []string {
	return []string{StoreIgnoresToken, StoreIgnoresDue, StoreIgnoresVersion, KeyFreedEarly, KeyKept,
		WindowIgnored, HistoryMissing, CursorKept, FireFromNow, SkipRuns, MisfireRuns,
		MisfireUncapped, PauseIgnored, FireTwice, OutcomeUnchecked, FailureUncounted,
		OverlapIgnored, QueueLetsGo, LineIgnored, LineForgotten,
		OutcomeDropped, NotesDropped, OutputForgotten, ClaimDropped, NotDueDropped, NotDueSpins,
		SuspectsSpin,
		StartLate, StartDuplicate, RecoverByTime, LostAtOnce, HandBackRunning,
		HeartbeatFirst, SlotLeak, HoldIgnored, CallsHang}
}
