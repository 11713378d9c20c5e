package cli

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/notify"
	"opdeck/internal/format"
)

var notifyCommands = commands{act.NotifyList: notifyListCommand, act.NotifyTest: notifyTestCommand,
	act.NotifySilence: notifySilenceCommand}

// ruleJSON is a [notify.NAME] with the outcome of its notices.
type ruleJSON struct {
	Name          string       `json:"name"`
	Configured    bool         `json:"configured"` // false: only the store knows it
	On            []string     `json:"on"`
	To            string       `json:"to"` // the program, or the host of the address
	SilencedUntil *time.Time   `json:"silenced_until"`
	SilencedBy    string       `json:"silenced_by"`
	Sent          int          `json:"sent"` // of the last 30 days, as the next ones
	Waiting       int          `json:"waiting"`
	Failed        int          `json:"failed"`
	Silenced      int          `json:"silenced"`
	Newest        []noticeJSON `json:"newest"`
}

// noticeJSON is a notice as it was sent, with its outcome.
type noticeJSON struct {
	Phase    notify.Phase  `json:"phase"` // waiting, sending, sent, failed, silenced
	Attempts int           `json:"attempts"`
	Ended    *time.Time    `json:"ended"`
	Error    string        `json:"error"` // of the last attempt
	Notice   notify.Notice `json:"notice"`
}

func ruleOf(n app.NoticeRule) ruleJSON {
	out := ruleJSON{Name: n.Name, Configured: !n.Gone, On: n.Config.On, To: receiverOf(n),
		SilencedUntil: moments(n.Silence.Until), SilencedBy: n.Silence.By, Sent: n.Phases[notify.Sent],
		Waiting: n.Phases[notify.Waiting] + n.Phases[notify.Sending], Failed: n.Phases[notify.Failed],
		Silenced: n.Phases[notify.Silenced]}
	for _, k := range n.Newest {
		out.Newest = append(out.Newest, noticeJSON{k.Phase, k.Attempts, moments(k.Ended), k.Error, k.Notice})
	}
	return out
}

// receiverOf is the program, or scheme and host of the address: the rest may hold a secret.
func receiverOf(n app.NoticeRule) string {
	if len(n.Config.Command) > 0 {
		return n.Config.Command[0]
	}
	if u, err := url.Parse(n.Config.URL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return ""
}

func notifyListCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Lists each [notify.NAME] of the config: what it is about, where its notices go, until " +
		"when\n" +
		"it is silenced and by whom, and how many of its notices of the last 30 days were delivered. opdeck\n" +
		"serve sends them. -o json has the newest 20 of each."}
	return printsList(r, cmd, func(ctx context.Context, a *app.App, _ []string, out listOf[ruleJSON]) error {
		list, err := app.NoticesOf(a).List(ctx)
		if err != nil {
			return err
		}
		items := []ruleJSON{}
		t := tabled("NAME|ON|TO|SENT|WAITING|FAILED|SILENCED|SILENT UNTIL|BY").
			none("No [notify.NAME] is configured. config.example.toml shows one.")
		var notes []string
		for _, n := range list {
			x := ruleOf(n)
			items = append(items, x)
			on, until := strings.Join(x.On, " "), ""
			if !x.Configured {
				on = "not in the config"
			}
			if x.SilencedUntil != nil {
				until = format.Time(*x.SilencedUntil, r.zone)
			}
			t.add(x.Name, on, x.To, x.Sent, x.Waiting, x.Failed, x.Silenced, until, x.SilencedBy)
			if len(x.Newest) > 0 {
				notes = append(notes, noticeLine(r, x.Newest[0]))
			}
		}
		if err := out.print(items, items, t); err != nil || r.output != "table" {
			return err
		}
		for _, line := range notes {
			r.say("%s", line)
		}
		return nil
	})
}

// noticeLine is a notice in a sentence.
func noticeLine(r *root, n noticeJSON) string {
	out := n.Notice.Name + ", " + format.Time(n.Notice.At, r.zone) + ", " + string(n.Notice.Kind) + ", " +
		string(n.Phase) + ": " + n.Notice.Sentence
	if n.Error != "" {
		out += " Last attempt: " + n.Error + "."
	}
	return oneLine(out)
}

func notifyTestCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Sends a notice that is marked as a test to the receiver of [notify.NAME], once and at " +
		"once, from\n" +
		"this host, also while the rule is silenced. The exit code is 1 if the receiver did not take it."}
	cmd.ValidArgsFunction = completes(func() ([]string, error) { return ruleNames(r) })
	return prints(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[notify.Notice]) error {
		n, err := app.NoticesOf(a).Try(ctx, args[0], r.env.Getenv)
		if err != nil {
			return err
		}
		return out.report(n, "Sent: test notice %s.", n.ID)
	})
}

// silenceJSON is a silence that was set.
type silenceJSON struct {
	Name  string     `json:"name"`
	Until *time.Time `json:"until"` // null: it is not silenced
	By    string     `json:"by"`
}

func notifySilenceCommand(r *root) *cobra.Command {
	var until string
	cmd := &cobra.Command{Long: "Notices of [notify.NAME] are counted and listed, not sent, until the end of the " +
		"silence, and not\n" +
		"sent afterwards. --until is a time (2026-01-31T12:00:00Z) or a duration (2h), at most 30 days\n" +
		"ahead; now ends the silence. The audit trail records it."}
	cmd.ValidArgsFunction = completes(func() ([]string, error) { return ruleNames(r) })
	prints(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[silenceJSON]) error {
		end, err := silentUntil(until, a.Now())
		if err != nil {
			return err
		}
		s, err := app.NoticesOf(a).Silence(ctx, args[0], end)
		if err != nil {
			return err
		}
		if !end.After(a.Now()) {
			return out.report(silenceJSON{Name: args[0], By: s.By}, "Notices of %s are sent.", args[0])
		}
		return out.report(silenceJSON{args[0], moments(s.Until), s.By}, "Notices of %s are not sent until %s.", args[0],
			format.Time(s.Until, r.zone))
	})
	cmd.Flags().StringVar(&until, "until", "", "end of the silence: a time, a duration, or now")
	return cmd
}

// silentUntil parses --until.
func silentUntil(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return now, usage("--until is required: a time such as 2026-01-31T12:00:00Z, or a duration such as 2h")
	}
	if s == "now" {
		return now, nil
	}
	end, err := time.Parse(time.RFC3339, s)
	if err != nil {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return now, usage("--until %q is neither a time such as 2026-01-31T12:00:00Z nor a duration such as 2h", s)
		}
		end = now.Add(d)
	}
	switch {
	case !end.After(now):
		return now, usage("--until %s is past; --until now ends a silence", s)
	case end.After(now.Add(notify.SilenceMost)):
		return now, usage("--until %s is more than 30 days ahead", s)
	}
	return end, nil
}

func ruleNames(r *root) (out []string, err error) {
	cfg, err := r.loadConfig()
	for _, n := range cfg.NotifyRules() {
		out = append(out, n.Name)
	}
	return out, err
}
