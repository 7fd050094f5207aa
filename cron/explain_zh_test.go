package cron_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ax-sched/ax/cron"
)

func TestExplainInChinese(t *testing.T) {
	for expr, want := range map[string]string{
		// 时间
		"*/2 * * * *":          "每 2 分钟",
		"* * * * *":            "每分钟",
		"* * * * * *":          "每秒",
		"*/15 * * * * *":       "每 15 秒",
		"*/20 0,30 * * * *":    "每小时第 0、30 分每 20 秒",
		"*/20 0,30 9-11 * * *": "09:00 至 11:30:40 之间每小时第 0、30 分每 20 秒",
		"30 * * * * *":         "每分钟第 30 秒",
		"5,35 * * * * *":       "每分钟第 5、35 秒",
		"30 */2 * * * *":       "每小时第 0、2、…、58 分第 30 秒",
		"30 * 9-17 * * *":      "09:00:30 至 17:59:30 之间每分钟第 30 秒",
		"5/15 * * * *":         "每小时第 5、20、35、50 分",
		"*/7 * * * *":          "每小时第 0、7、…、56 分",
		"1-5,30 * * * *":       "每小时第 1 至 5、30 分",
		"0 * * * *":            "每小时整点",
		"0 */2 * * *":          "每 2 小时整点",
		"30 */2 * * *":         "0、2、…、22 点第 30 分",
		"5,35 9-17 * * *":      "09:05 至 17:35 之间每小时第 5、35 分",
		"*/5 9-17 * * *":       "09:00 至 17:55 之间每 5 分钟",
		"*/10 8,20 * * *":      "8、20 点每 10 分钟",
		"* 0 * * *":            "00:00 至 00:59 之间每分钟",
		"0 2 * * *":            "02:00",
		"30 0 2 * * *":         "02:00:30",
		"0 9,12,18 * * *":      "09:00、12:00、18:00",
		"0 9-17 * * *":         "9 至 17 点整",
		"0 8,10-17 * * *":      "8、10 至 17 点整",
	} {
		if strings.Contains(want, "点第") || strings.Contains(want, "点每") ||
			strings.Contains(want, "点整") ||
			strings.Contains(want, ":") {
			want = "每天 " + want // a part of the day
		}
		if got := parse(t, expr).ExplainIn(cron.Chinese); got != want+"（UTC）" {
			t.Errorf("%q: got %q, want %q", expr, got, want+"（UTC）")
		}
	}
}

func TestExplainDaysInChinese(t *testing.T) {
	for days, want := range map[string]string{
		"* * *":        "每天",
		"* * 1-5":      "每周一至周五",
		"* * SAT,SUN":  "每周六、周日",
		"* * FRI-MON":  "每周一、周五至周日",
		"* * 5L":       "每月最后一个周五",
		"* * 2#2":      "每月第二个周二",
		"* * 1#1,1#3":  "每月第一个周一、第三个周一",
		"* * 3,1#1":    "每周三、每月第一个周一",
		"1 * *":        "每月 1 日",
		"1,15 * *":     "每月 1、15 日",
		"1-7 * *":      "每月 1 至 7 日",
		"*/2 * *":      "每月 1、3、…、31 日",
		"L * *":        "每月最后一天",
		"L-3 * *":      "每月倒数第 4 天",
		"LW * *":       "每月最后一个工作日",
		"15W * *":      "每月离 15 日最近的工作日",
		"1,L * *":      "每月 1 日、最后一天",
		"13 * 5":       "每月 13 日或每周五",
		"13 * 5L":      "每月 13 日或每月最后一个周五",
		"13 * */5":     "每月 13 日（仅限周五、周日）",
		"* 2 *":        "每年 2 月每天",
		"14 2 *":       "每年 2 月 14 日",
		"L 2 *":        "每年 2 月最后一天",
		"* 1 1#3":      "每年 1 月第三个周一",
		"* 12 1-5":     "每年 12 月每周一至周五",
		"1 1,4,7,10 *": "每年 1 月、4 月、7 月、10 月的 1 日",
		"15W 6-8 *":    "每年 6 月至 8 月的离 15 日最近的工作日",
		"* 6-8 *":      "每年 6 月至 8 月的每天",
		"13 2 5":       "每年 2 月中的 13 日或周五",
		"1-15 1,7 1,3": "每年 1 月、7 月中的 1 至 15 日或周一、周三",
		"13 2 5L":      "每年 2 月中的 13 日或最后一个周五",
		"* 2 5":        "每年 2 月每周五",
	} {
		want += " 09:30（UTC）"
		if got := parse(t, "30 9 "+days).ExplainIn(cron.Chinese); got != want {
			t.Errorf("%q: got %q, want %q", days, got, want)
		}
	}
	for expr, want := range map[string]string{
		"0 0 0 * * * 2030-2032": "2030 至 2032 年每天 00:00（UTC）",
		"0 0 0 14 2 * 2030":     "2030 年 2 月 14 日 00:00（UTC）",
		"0 0 0 1 * * 2030,2040": "2030、2040 年每月 1 日 00:00（UTC）",
		"0 0 0 * * 1 2030":      "2030 年每周一 00:00（UTC）",
		"*/5 9-17 * * 1-5":      "每周一至周五 09:00 至 17:55 之间每 5 分钟（UTC）",
		"*/5 * * * 1-5":         "每周一至周五 每 5 分钟（UTC）",
		"0 * 1 * *":             "每月 1 日 每小时整点（UTC）",
		"@daily":                "每天 00:00（UTC）",
		"@monthly":              "每月 1 日 00:00（UTC）",
		"@yearly":               "每年 1 月 1 日 00:00（UTC）",
		"@weekly":               "每周日 00:00（UTC）",
		"@hourly":               "每小时整点（UTC）",
	} {
		if got := parse(t, expr).ExplainIn(cron.Chinese); got != want {
			t.Errorf("%q: got %q, want %q", expr, got, want)
		}
	}
}

func TestExplainZonesInChinese(t *testing.T) {
	berlin := cron.In(location(t, "Europe/Berlin"))
	for _, c := range []struct {
		expr    string
		options []cron.Option
		want    string
	}{
		{"CRON_TZ=Asia/Shanghai 0 2 * * *", nil, "每天 02:00（Asia/Shanghai）"},
		{"*/2 * * * *", []cron.Option{berlin},
			"每 2 分钟（Europe/Berlin）；时钟调整时按实际经过的时间执行"},
		{"0 2 * * *", []cron.Option{berlin}, "每天 02:00（Europe/Berlin）；时钟调整时，" +
			"被跳过的时刻在跳过之后立即执行，重复的时刻只在第一次执行"},
		{"0 2 * * *", []cron.Option{berlin, cron.OnGap(cron.GapSkip),
			cron.OnOverlap(cron.OverlapSecond)}, "每天 02:00（Europe/Berlin）；时钟调整时，" +
			"被跳过的时刻不执行，重复的时刻只在第二次执行"},
		{"0 2 * * *", []cron.Option{berlin, cron.OnOverlap(cron.OverlapBoth)},
			"每天 02:00（Europe/Berlin）；时钟调整时，" +
				"被跳过的时刻在跳过之后立即执行，重复的时刻两次都执行"},
		{"@every 1h30m", []cron.Option{cron.Anchor(time.Unix(0, 0))},
			"每 1 小时 30 分钟，从 1970-01-01T00:00:00Z 起算"},
		{"@every 90s500ms", []cron.Option{cron.Anchor(time.Unix(0, 0))},
			"每 1 分钟 30 秒 500 毫秒，从 1970-01-01T00:00:00Z 起算"},
	} {
		if got := parse(t, c.expr, c.options...).ExplainIn(cron.Chinese); got != c.want {
			t.Errorf("%q: got %q, want %q", c.expr, got, c.want)
		}
	}
}

// TestWarningsInChinese: the same warnings as in English, in the other words.
func TestWarningsInChinese(t *testing.T) {
	for expr, want := range map[string][]string{
		"0 2 * * *":      nil,
		"0 0 13 * 5":     {"日期和星期都有限制"},
		"*/10 * * * * *": {"每分钟最多执行 6 次"},
		"* 0 * * *":      {"在匹配的小时内每分钟都会执行：一天执行 60 次，00:00 至 00:59"},
		"*/7 * * * *":    {"分钟的步长 7 不能整除 60"},
		"0 */5 * * *":    {"小时的步长 5 不能整除 24"},
		"0 0 31 * *":     {"没有 31 日的月份不会执行"},
		"* * 3 * * *":    {"每分钟最多执行 60 次", "在匹配的小时内每分钟都会执行"},
	} {
		s := parse(t, expr)
		if got := s.WarningsIn(cron.Chinese); !slices.EqualFunc(got, want, strings.Contains) ||
			len(got) != len(s.Warnings()) {
			t.Errorf("%q: got %q, want %q", expr, got, want)
		}
	}
	for expr, want := range map[string]string{
		"0 2 * * *":   "一天执行 1 次，时间 02:00",
		"*/7 * * * *": "一天执行 216 次，00:00 至 23:56",
		"@every 90s":  "一天约执行 960 次",
	} {
		if got := parse(t, expr).PerDay().In(cron.Chinese); got != want {
			t.Errorf("%q: got %q, want %q", expr, got, want)
		}
	}
}
