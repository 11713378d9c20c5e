//go:build unix

package entry

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"opdeck/internal/app"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/surface/cli"
	"opdeck/ui/draw"
)

// listings are the commands that print a list, by their names in opdeck schema. {op}, {cuid} and {file} are ids; whole
// is a column whose cells are never cut. none are empty on the built-in service, and print a sentence.
var listings = []struct {
	name, command, whole string
	none                 bool
}{
	{name: "operation.list", command: "operation list --limit 30", whole: "id"},
	{name: "operation.list", command: "operation list --live --limit 5", whole: "id"},
	{name: "operation.tree", command: "operation tree {op}", whole: "id"},
	{name: "operation.history", command: "operation history {op}", whole: "at"},
	{name: "operation.totals", command: "operation totals --by customer,month", whole: "sum"},
	{name: "document.list", command: "document list {op}", whole: "id"},
	{name: "document.resume", command: "document resume", none: true},
	{name: "customer.list", command: "customer list", whole: "cuid"},
	{name: "customer.files", command: "customer files {cuid}", whole: "id"},
	{name: "account.list", command: "account list", whole: "id"},
	{name: "counterparty.list", command: "counterparty list", whole: "id"},
	{name: "tariff.limits", command: "tariff limits", whole: "from"},
	{name: "tariff.commissions", command: "tariff commissions", whole: "from"},
	{name: "compliance.journey", command: "compliance journey {cuid}", whole: "step"},
	{name: "limits", command: "limits", whole: "class"},
	{name: "event.list", command: "event list", whole: "received"},
	{name: "event.list", command: "event list --rejected", none: true},
	{name: "event.codes", command: "event codes", none: true},
	{name: "audit.list", command: "audit list", whole: "seq"},
	{name: "audit.unsettled", command: "audit unsettled", none: true},
	{name: "approval.list", command: "approval list", whole: "id"},
	{name: "note.list", command: "note list", whole: "at"},
}

// noTable are commands with CSV that print no table, with the reason.
var noTable = map[string]string{"operation.export": "writes a file"}

const listingsConfig = `
default_context = "box"
[contexts.box]
sandbox = true
approval = "second_person"
[limits]
policy = "warn"
per_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }
[ui]
time_zone = "UTC"
`

// box is the program with its state.
type box struct {
	t     *testing.T
	flags []string
}

// run runs a command and returns its output.
func (b box) run(in string, out *os.File, command ...string) (errs string) {
	b.t.Helper()
	var e bytes.Buffer
	code := Run(b.t.Context(), cli.Build{}, slices.Concat(b.flags, command), strings.NewReader(in), out, &e)
	if code != 0 && code != 5 { // 5: a request for a second person
		b.t.Fatalf("%q: exit %d, %s", command, code, e.String())
	}
	return e.String()
}

// piped is what a command writes to a file.
func (b box) piped(in string, command ...string) string {
	b.t.Helper()
	f, err := os.Create(filepath.Join(b.t.TempDir(), "out"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b.run(in, f, command...)
	out, err := os.ReadFile(f.Name())
	if err != nil {
		b.t.Fatal(err)
	}
	return string(out)
}

// at is what a command writes to a terminal of this width.
func (b box) at(width int, command ...string) string {
	b.t.Helper()
	master, terminal, err := pty.Open()
	if err != nil {
		b.t.Skip(err)
	}
	defer func() { _ = master.Close() }()
	if err := pty.Setsize(terminal, &pty.Winsize{Cols: uint16(width), Rows: 24}); err != nil {
		b.t.Fatal(err)
	}
	said := make(chan string)
	go func() {
		all, _ := io.ReadAll(master) // its end is an error on Linux
		said <- string(all)
	}()
	b.run("", terminal, command...)
	_ = terminal.Close()
	return strings.ReplaceAll(<-said, "\r\n", "\n")
}

// column is the column of a CSV listing.
func column(t *testing.T, csv, name string) []string {
	t.Helper()
	var out []string
	at := -1
	for line := range strings.Lines(csv) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if at < 0 {
			if at = slices.IndexFunc(cells, func(s string) bool { return strings.EqualFold(strings.TrimSuffix(s, " (UTC)"), name) }); at < 0 {
				t.Fatalf("no column %s in %s", name, line)
			}
			continue
		}
		out = append(out, cells[at])
	}
	return out
}

// TestListingsFitTheTerminal runs every command with a list at a terminal: no line is wider than it, and cells of the
// column that tells rows apart are whole. Into a pipe nothing is cut.
func TestListingsFitTheTerminal(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, []byte(listingsConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	b := box{t, []string{"--config", config, "--state", filepath.Join(dir, "state"), "--still"}}
	covered := map[string]bool{}
	for _, l := range listings {
		covered[l.name] = true
	}
	var s struct {
		Commands []struct {
			Name    string   `json:"name"`
			Outputs []string `json:"outputs"`
		} `json:"commands"`
	}
	if err := json.Unmarshal([]byte(b.piped("", "schema", "-o", "json")), &s); err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Commands {
		if slices.Contains(c.Outputs, "csv") && !covered[c.Name] && noTable[c.Name] == "" {
			t.Errorf("%s prints a list and is not tried", c.Name)
		}
	}
	b.piped("", "index", "sync", "--wait")
	op := column(t, b.piped("", "operation", "list", "--limit", "1", "-o", "csv"), "id")[0]
	cuid := column(t, b.piped("", "customer", "list", "-o", "csv"), "cuid")[0]
	doc := column(t, b.piped("", "document", "list", op, "-o", "csv"), "id")[0]
	b.piped("", "document", "remove", op, doc, "--yes", "--reason", strings.Repeat("a reason ", 12))
	b.piped("", "note", "add", op, strings.Repeat("what the bank said, ", 8))
	x, err := app.Open(t.Context(), app.Options{ConfigFlag: config, StateFlag: filepath.Join(dir, "state"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	receivertest.Deliver(t, x.Hooks().Inbox(), receivertest.Body(1, op))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("{op}", op, "{cuid}", cuid)
	for _, l := range listings {
		command := strings.Fields(words.Replace(l.command))
		if l.none {
			if out := b.at(80, command...); out != "" {
				t.Errorf("%s has rows now: %s", l.command, out)
			}
			continue
		}
		csv := b.piped("", append(command, "-o", "csv")...)
		for _, width := range []int{80, 160} {
			out := b.at(width, command...)
			for line := range strings.Lines(out) {
				if w := draw.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s at %d: a line of %d: %s", l.command, width, w, line)
				}
			}
			if l.whole == "sum" { // people read it with separators
				out = strings.ReplaceAll(out, ",", "")
			}
			for _, cell := range column(t, csv, l.whole) {
				if l.name != "audit.list" && l.whole != "at" && l.whole != "received" && !strings.Contains(out, cell) {
					t.Errorf("%s at %d: %s is not whole in\n%s", l.command, width, cell, out)
				}
			}
		}
		if out := b.piped("", command...); strings.Contains(out, "…") && !strings.Contains(csv, "…") {
			t.Errorf("%s: cut in a pipe:\n%s", l.command, out)
		}
	}
}
