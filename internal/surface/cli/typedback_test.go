package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/cli"
)

const listedRows = 100

// listed is an index with operations, and the command that lists them.
type listed struct {
	t   *testing.T
	app *app.App
	ids []string
	all []string // the records, folded, in the order of ids
}

func openListed(t *testing.T) *listed {
	t.Helper()
	noon := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	a, err := app.Open(t.Context(), app.Options{StateFlag: filepath.Join(t.TempDir(), "state"),
		Getenv: func(string) string { return "" }, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	var all []index.Entry
	for _, o := range indextest.Varied(listedRows, noon) {
		all = append(all, index.Entry{Op: o, Origin: index.List, Seen: noon})
	}
	if _, err := a.Index.Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	l := &listed{t: t, app: a}
	l.ids, _ = l.list("", listedRows)
	return l
}

// run runs the command at a terminal of a width.
func (l *listed) run(width int, args ...string) (out, said string) {
	l.t.Helper()
	var o, e bytes.Buffer
	if code := cli.Run(l.t.Context(), cli.Env{Args: args, Out: &o, Err: &e, Getenv: func(string) string { return "" },
		OutTTY: true, OutWidth: width, App: l.app, Actor: api.Actor{Name: "ana", Role: api.Admin, Via: "command"}}); code != 0 {
		l.t.Fatalf("%q: exit %d, %s", args, code, e.String())
	}
	return o.String(), e.String()
}

// list lists the first ids that match, and what is said about that.
func (l *listed) list(text string, n int) (ids []string, said string) {
	l.t.Helper()
	out, said := l.run(0, "operation", "list", "--cached", "-o", "json", "--limit", fmt.Sprint(n), "--filter", text)
	var list struct {
		Items []api.Operation `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		l.t.Fatal(err)
	}
	for _, o := range list.Items {
		ids = append(ids, string(o.OPID))
		if n == listedRows {
			record, err := json.Marshal(o)
			if err != nil {
				l.t.Fatal(err)
			}
			l.all = append(l.all, filter.Fold(string(record)))
		}
	}
	return ids, said
}

// table are the cells of each row that the command prints in a width.
func (l *listed) table(width int) (rows [][]string) {
	l.t.Helper()
	out, _ := l.run(width, "operation", "list", "--cached", "--no-color", "--limit", fmt.Sprint(listedRows))
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	filled := make([]bool, 2000) // cells in which any line has something
	for _, line := range lines {
		at := 0
		for _, r := range ansi.Strip(line) {
			w := ansi.StringWidth(string(r))
			for i := range w {
				filled[at+i] = filled[at+i] || r != ' '
			}
			at += w
		}
	}
	from := []int{0} // where the columns begin
	for at := 2; at < len(filled); at++ {
		if filled[at] && !filled[at-1] && !filled[at-2] {
			from = append(from, at)
		}
	}
	from = append(from, len(filled))
	for _, line := range lines[1:] {
		var row []string
		for i, at := range from[:len(from)-1] {
			row = append(row, strings.TrimSpace(ansi.Cut(line, at, from[i+1])))
		}
		rows = append(rows, row)
	}
	return rows
}

// typable reports whether a cell is something to type: no amount or time of the service that was not understood, which
// is printed as it came.
func typable(cell string) bool {
	return cell != "" && cell != "–" && !strings.HasPrefix(cell, "?") && cell != "soon"
}

// TestWhatTheCommandPrintsCanBeTyped: what operation list prints at a terminal, typed into --filter, finds its row. A
// cell whose words at most three records have is typed alone, any other with the next cells of its row, and the row is
// among the first three.
func TestWhatTheCommandPrintsCanBeTyped(t *testing.T) {
	racedetector.Skip(t)
	l := openListed(t)
	all := l.table(400)
	shows := func(words []string) (n int) {
		for i, row := range all {
			text := filter.Fold(strings.Join(row, " ")) + l.all[i]
			if !slices.ContainsFunc(words, func(w string) bool {
				head, _, _ := strings.Cut(w, "…")
				return !strings.Contains(text, filter.Fold(head))
			}) {
				n++
			}
		}
		return n
	}
	queries, few := 0, 6 // rows, far apart
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		few = listedRows / 3
	}
	for _, width := range []int{400, 120} {
		alone, narrowed, rows := 0, 0, l.table(width)
		if len(rows) != listedRows {
			t.Fatalf("%d rows", len(rows))
		}
		for n := range few {
			at := n * 21 % (listedRows - listedRows%3)
			for i, cell := range rows[at] {
				if !typable(cell) {
					continue
				}
				typed, cells := []string{}, 0
				for k := range rows[at] {
					if next := rows[at][(i+k)%len(rows[at])]; typable(next) {
						typed, cells = append(typed, strings.Fields(next)...), cells+1
					}
					if shows(typed) <= 3 {
						break
					}
				}
				if narrowed++; cells == 1 {
					alone, narrowed = alone+1, narrowed-1
				}
				if ids, said := l.list(strings.Join(typed, " "), 3); !slices.Contains(ids, l.ids[at]) {
					t.Errorf("row %d: %q lists %q, want %s; %s", at, typed, ids, l.ids[at], said)
				}
			}
		}
		t.Logf("%d cells wide: %d cells typed alone, %d narrowed", width, alone, narrowed)
		queries += alone + narrowed
	}
	if queries < 10*few {
		t.Errorf("%d queries", queries)
	}
}

// TestNoMatchNamesTheWords: for a filter that matches nothing the command says on standard error what was looked for and
// which words no row has, and offers nothing in their place.
func TestNoMatchNamesTheWords(t *testing.T) {
	l := openListed(t)
	for text, want := range map[string]string{
		"PENDNIG":                            "No operation in the local index matches “PENDNIG”.",
		"9,987,654.32":                       "No operation in the local index matches “9,987,654.32”. 9,987,654.32 is the amount 9987654.32.",
		"SUCCESS Meridain 1.23":              "Nothing matches “Meridain”, “1.23”.",
		"status:PENDIG currency:EUR":         "Nothing matches “status:PENDIG”.",
		"status:SUCCESS status:PENDING":      "Each part matches operations, but none matches all.",
		l.ids[0][:11] + "zz" + l.ids[0][13:]: "matches “" + l.ids[0][:11] + "zz" + l.ids[0][13:] + "”.",
	} {
		ids, said := l.list(text, 3)
		if said = strings.TrimSpace(said); len(ids) > 0 || !strings.HasSuffix(said, want) {
			t.Errorf("%q lists %q and says %q, want %q", text, ids, said, want)
		}
	}
	none := "00000000-0000-4000-8000-000000000000"
	if ids, said := l.list(l.ids[0]+" "+none, 3); len(ids) != 1 || !strings.Contains(said, "Nothing matches “"+none+"”.") {
		t.Errorf("of a list with an unknown id it lists %q and says %q", ids, said)
	}
}
