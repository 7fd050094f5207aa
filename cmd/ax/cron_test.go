package main

import (
	"testing"

	"github.com/ax-sched/ax/cron"
)

// TestLanguage: the flag wins, then the variables in the order that POSIX gives them.
func TestLanguage(t *testing.T) {
	for _, c := range []struct {
		flag, all, messages, lang string
		want                      cron.Language
	}{
		{"", "", "", "", cron.English},
		{"", "", "", "zh_CN.UTF-8", cron.Chinese},
		{"", "", "zh_TW", "en_US.UTF-8", cron.Chinese},
		{"", "C", "zh_CN", "zh_CN", cron.English},
		{"", "zh-Hans", "", "", cron.Chinese},
		{"", "", "", "zhx", cron.English},
		{"en", "zh_CN.UTF-8", "", "", cron.English},
		{"zh", "C", "", "", cron.Chinese},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_MESSAGES", c.messages)
		t.Setenv("LANG", c.lang)
		if got := (&cronExplainCmd{Lang: c.flag}).language(); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
