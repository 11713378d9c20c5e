package metrics

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/store/storetest"
)

var update = flag.Bool("update", false, "write the table of alerts in docs/alerts.md")

const (
	alertsFile = "../../../packaging/alerts.yml"
	triedFile  = "../../../packaging/alerts_test.yml"
	runbook    = "../../../docs/alerts.md"
)

// withoutRule are the causes that no alert is about, with the reason.
var withoutRule = map[verdict.Cause]string{
	"webhooks_rejected": "OpdeckHooksRejected uses the time of the rejection, so it ends ten minutes after the last one",
	"index_old":         "OpdeckIndexOld uses the age itself",
	"config_outdated":   "it follows a change that a person has just made, and opdeck check names it",
}

// alert is a rule of the file.
type alert struct{ name, expr, wait, severity, summary string }

// alerts reads the rules. promtool checks that Prometheus reads the file in the same way.
func alerts(t *testing.T) []alert {
	t.Helper()
	b, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []alert
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if value = strings.Trim(value, `"`); key == "- alert" {
			out = append(out, alert{name: value})
		}
		if !ok || len(out) == 0 {
			continue
		}
		switch a := &out[len(out)-1]; key {
		case "expr":
			a.expr = value
		case "for":
			a.wait = value
		case "labels":
			a.severity = strings.TrimSuffix(strings.TrimPrefix(value, "{severity: "), "}")
		case "summary":
			a.summary = value
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d rules were read", len(out))
	}
	return out
}

var (
	metricName = regexp.MustCompile(`opdeck_([a-z_]+)`)
	selector   = regexp.MustCompile(`opdeck_cause\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z]+)(=~|!~|!=|=)"([^"]*)"`)
)

// TestAlertRules: every rule is complete and uses metrics that /metrics exports, increase() only for counters; every
// metric has a rule.
func TestAlertRules(t *testing.T) {
	seen, used := map[string]bool{}, map[string]bool{}
	for _, a := range alerts(t) {
		if seen[a.name] || a.expr == "" || a.wait == "" || a.summary == "" ||
			!slices.Contains([]string{"warning", "critical"}, a.severity) {
			t.Errorf("not complete, or twice: %+v", a)
		}
		seen[a.name] = true
		for _, m := range metricName.FindAllStringSubmatch(a.expr, -1) {
			if used[m[1]] = true; described[m[1]] == nil {
				t.Errorf("%s: there is no metric opdeck_%s", a.name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`(?:increase|rate)\(([a-z_]+)`).FindAllStringSubmatch(a.expr, -1) {
			if !strings.HasSuffix(m[1], "_total") {
				t.Errorf("%s: %s is not a counter", a.name, m[1])
			}
		}
	}
	for name := range described {
		if !used[name] {
			t.Errorf("no rule uses opdeck_%s", name)
		}
	}
}

// TestMetricsAreNamedByType: the names of counters, and only theirs, end in _total.
func TestMetricsAreNamedByType(t *testing.T) {
	counted := 0
	b, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`out\.(gauge|count|flag|moment)\("([a-z_]+)"`).FindAllStringSubmatch(string(b), -1) {
		if counted++; (m[1] == "count") != strings.HasSuffix(m[2], "_total") {
			t.Errorf("%s is exported by out.%s", m[2], m[1])
		}
	}
	if counted < len(described) {
		t.Errorf("only %d metrics were found", counted)
	}
}

// TestEveryCauseHasAnAlert: each cause of a verdict matches a rule, or is in withoutRule.
func TestEveryCauseHasAnAlert(t *testing.T) {
	rules := alerts(t)
	known := map[verdict.Cause]bool{}
	for _, row := range verdict.Table() {
		known[row.Cause] = true
		found := slices.ContainsFunc(rules, func(a alert) bool { return selects(t, a.expr, row) })
		if why := withoutRule[row.Cause]; found == (why != "") {
			t.Errorf("%s (%s, %s): a rule: %v; the reason to have none: %q", row.Cause, row.Part, row.Severity, found, why)
		}
	}
	for c := range withoutRule {
		if !known[c] {
			t.Errorf("there is no cause %s", c)
		}
	}
}

// selects reports whether an expression asks for the metric of a cause that no other one explains.
func selects(t *testing.T, expr string, row verdict.Row) bool {
	labels := map[string]string{"cause": string(row.Cause), "part": string(row.Part), "severity": row.Severity.String(),
		"follows": ""}
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		fits := true
		for _, m := range matcher.FindAllStringSubmatch(s[1], -1) {
			value, has := labels[m[1]]
			if !has {
				t.Errorf("%s: opdeck_cause has no label %s", expr, m[1])
			}
			same := value == m[3]
			if strings.HasSuffix(m[2], "~") {
				same = regexp.MustCompile("^(?:" + m[3] + ")$").MatchString(value)
			}
			fits = fits && same != strings.HasPrefix(m[2], "!")
		}
		if fits {
			return true
		}
	}
	return false
}

// TestRunbookHasTheAlerts: the table in the runbook is that of the file; -update writes it.
func TestRunbookHasTheAlerts(t *testing.T) {
	const from, to = "<!-- alerts: written by `go test ./internal/surface/metrics -update` -->\n", "<!-- /alerts -->"
	b, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", runbook)
	}
	want := head + from + "\n" + alertTable(alerts(t)) + "\n" + to + tail
	switch {
	case want == string(b):
	case !*update:
		t.Error("the table of alerts is not that of the file; -update writes it")
	default:
		if err := os.WriteFile(runbook, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func alertTable(rules []alert) string {
	var b strings.Builder
	b.WriteString("| Alert | Expression | For | Meaning |\n|---|---|---|---|\n")
	for _, a := range rules {
		wait := a.wait
		if wait == "0m" {
			wait = "at once"
		}
		summary := regexp.MustCompile(`\{\{ \$labels\.([a-z]+) \}\}`).ReplaceAllString(a.summary, "*$1*")
		fmt.Fprintf(&b, "| `%s` (%s) | `%s` | %s | %s |\n", a.name, a.severity, a.expr, wait, summary)
	}
	return b.String()
}

// TestAlertsFire: promtool accepts the rules, and each fires in time and ends, with the data in alerts_test.yml.
func TestAlertsFire(t *testing.T) {
	b, err := os.ReadFile(triedFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts(t) {
		if !strings.Contains(string(b), "alertname: "+a.name+"\n") {
			t.Errorf("%s is not tried in alerts_test.yml", a.name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		storetest.Missing(t, "promtool", "promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", triedFile}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args[0], err, out)
		}
	}
}
