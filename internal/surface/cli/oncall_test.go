package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sources is the program's text in these folders, without its tests.
func sources(t *testing.T, folders ...string) string {
	t.Helper()
	var b strings.Builder
	for _, folder := range folders {
		names, err := filepath.Glob("../../../" + folder + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatal(folder, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(src)
		}
	}
	return b.String()
}

func runbook(t *testing.T) string { return guides(t)["oncall.md"] }

// TestRunbookQuotesTheProgram: what is in italics as a warning is one that
// the program can show, and what it measures exists.
func TestRunbookQuotesTheProgram(t *testing.T) {
	said := sources(t, "api", "api/session", "internal/app", "internal/store", "internal/surface/console",
		"views/documents", "views/compliance", "views/events", "internal/surface/server", "internal/domain/followup", "internal/domain/verdict")
	quoted := regexp.MustCompile(`(?m)^\| \*([^*]+)\*`).FindAllStringSubmatch(runbook(t), -1)
	for _, m := range quoted {
		if !strings.Contains(said, m[1]) {
			t.Errorf("the program never says %q", m[1])
		}
	}
	if len(quoted) < 10 {
		t.Errorf("only %d warnings were found", len(quoted))
	}
	measured := sources(t, "internal/surface/metrics", "internal/domain/verdict")
	for _, name := range regexp.MustCompile(`opdeck_([a-z_]+)`).FindAllStringSubmatch(runbook(t), -1) {
		if !strings.Contains(measured, `"`+name[1]+`"`) && !strings.Contains(measured, `"`+name[0]+`"`) {
			t.Errorf("there is no metric %s", name[0])
		}
	}
	for _, label := range regexp.MustCompile(`[a-z]+="([a-z]+)"`).FindAllStringSubmatch(runbook(t), -1) {
		if !strings.Contains(measured, `"`+label[1]+`"`) {
			t.Errorf("no metric has the label %s", label[0])
		}
	}
}

// TestRunbookIsComplete: every line of the doctor that says more than that it was skipped, every reminder and every state of the header is in it.
func TestRunbookIsComplete(t *testing.T) {
	book := runbook(t)
	var want []string
	for _, m := range regexp.MustCompile(`d\.(?:says|unopened|unreached|add)\("([a-z ]+)", (?:[^S]|S[^k])`).
		FindAllStringSubmatch(sources(t, "internal/app"), -1) {
		want = append(want, "| `"+m[1]+"` |")
	}
	// reminders and toasts
	want = append(want, "is unfinished", "started, not finalized", "unknown outcome", "asks for approval",
		"`session none`", "`session doubtful`", "`session blocked`", "refreshing", "429", "`✗ service`", "`! feed`",
		"revealed")
	for _, part := range []string{"session_state", "store_readable", "audit_healthy", "audit_checkpoint_healthy",
		"budget_throttled", "hook_last_rejected_timestamp_seconds"} {
		want = append(want, "opdeck_"+part)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	for _, w := range want {
		if !strings.Contains(book, w) {
			t.Errorf("the runbook does not tell of %q", w)
		}
	}
	if len(want) < 24 {
		t.Errorf("only %d warnings were found", len(want))
	}
}
