package widget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

// made is rows that were made before, as a list keeps them.
type made []Row

func (m made) Len() int      { return len(m) }
func (m made) Row(i int) Row { return m[i] }
func (m made) IndexOf(id string) int {
	return slices.IndexFunc(m, func(r Row) bool { return r.ID == id })
}

// unkept draws the table as if it had drawn nothing before.
func unkept(t *Table) string {
	bare := *t
	bare.keep, bare.Cursor.Columns.measured = keep{}, false
	bare.Cursor.Columns.wide, bare.Cursor.Columns.want, bare.Cursor.Columns.shown = slices.Clone(t.Cursor.Columns.wide), slices.Clone(t.Cursor.Columns.want), slices.Clone(t.Cursor.Columns.shown)
	bare.Cursor.Columns.filled.in = slices.Clone(t.Cursor.Columns.filled.in)
	return bare.View()
}

// TestKeptLinesAreThoseDrawnAnew: whatever changed since a line was drawn (its row, the cursor, marks, numbers beside
// it, the size, the columns, the theme), the table draws what it would draw without any line kept.
func TestKeptLinesAreThoseDrawnAnew(t *testing.T) {
	texts := []string{"", "PENDING", "◌ PENDING", "株式会社", "Северный Лес Holding", "a name that no column has room for", "e\u0301", "🇩🇪"}
	numbers := []string{"1.00 EUR", "1,234,567.89 EUR", "0.000000001 BTC", "7 JPY", "", "12,345,678,901,234,567.25 USD"}
	tones := []theme.Tone{theme.Plain, theme.Warn, theme.Dim, theme.Bad}
	themes := []*theme.Theme{
		theme.New(uitest.Renderer(termenv.TrueColor), theme.Night()), theme.New(uitest.Renderer(termenv.ANSI256), theme.Day()),
		theme.New(uitest.Renderer(termenv.Ascii), theme.Mono()).ASCII(),
	}
	others := [][]Column{columns, append([]Column{{Title: "n", Min: 3, Align: Right}}, columns...), {
		{Title: "ID", Min: 4, Max: 20, ID: true}, {Title: "S", Min: 1, Signed: true}, {Title: "Sum", Min: 4, Align: Decimal, Shorten: true},
	}}
	rapid.Check(t, func(t *rapid.T) {
		row := func(id int) Row {
			r := Row{ID: fmt.Sprint("op-", id), Sign: rapid.SampledFrom([]string{"", "!", "▣"}).Draw(t, "sign"),
				Tone: rapid.SampledFrom(tones).Draw(t, "tone of the sign")}
			for i := range 6 {
				list := texts
				if i == 2 || i == 0 {
					list = numbers
				}
				r.Cells = append(r.Cells, rapid.SampledFrom(list).Draw(t, "cell"))
				r.Tones = append(r.Tones, rapid.SampledFrom(tones).Draw(t, "tone"))
			}
			return r
		}
		rows := made{}
		for i := range rapid.IntRange(0, 60).Draw(t, "rows") {
			rows = append(rows, row(i))
		}
		th := *themes[0]
		tb := NewTable(&th, keymap.New(), true, columns...)
		tb.SetSource(rows)
		tb.SetSize(80, 12)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what changes"); {
			case what == 0 && len(rows) > 0: // one row looks otherwise
				i := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
				rows = slices.Clone(rows)
				rows[i] = row(i)
				tb.SetSource(rows)
			case what == 1: // a row arrives
				rows = append(made{row(100 + len(rows))}, rows...)
				tb.SetSource(rows)
			case what == 2 && len(rows) > 0: // a row goes
				rows = slices.Clone(rows[1:])
				tb.SetSource(rows)
			case what == 3:
				tb.SetSize(rapid.IntRange(0, 130).Draw(t, "w"), rapid.IntRange(0, 24).Draw(t, "h"))
			case what == 4:
				th = *rapid.SampledFrom(themes).Draw(t, "theme")
			case what == 5:
				tb.SetColumns(rapid.SampledFrom(others).Draw(t, "columns")...)
			case what == 6:
				tb.Cursor.Columns.SetSort(rapid.IntRange(-1, 2).Draw(t, "sorted by"), rapid.Bool().Draw(t, "down"))
			case what == 7:
				tb.Cursor.Blur(rapid.Bool().Draw(t, "blurred"))
			default:
				press(tb, rapid.SampledFrom([]string{"up", "down", "pgup", "pgdown", "home", "end", " ", "*", "left", "right"}).Draw(t, "key"))
			}
			anew := unkept(tb)
			if kept := tb.View(); kept != anew {
				t.Fatalf("kept:\n%s\ndrawn anew:\n%s", strings.ReplaceAll(kept, "\x1b", "^["), strings.ReplaceAll(anew, "\x1b", "^["))
			}
		}
	})
}

// keyFrames are keys on a list of rows that were made before; each is drawn.
var keyFrames = []struct {
	name string
	keys [2]string
}{{"cursor", [2]string{"down", "up"}}, {"scroll", [2]string{"down", "down"}},
	{"page", [2]string{"pgdown", "pgup"}}}

// manyMade are rows of a long list.
func manyMade() made {
	from, rows := &many{n: 20_000}, made{}
	for i := range from.n {
		r := from.Row(i)
		r.Cells[2] = fmt.Sprintf("%d,%03d.%02d EUR", 1+i%900, i*7%1000, i%100)
		rows = append(rows, r)
	}
	return rows
}

// TestKeysNeedNoMemoryInTheTable: a cursor key and a scrolled line allocate nothing but the pieces of memory in which
// many lines are.
func TestKeysNeedNoMemoryInTheTable(t *testing.T) {
	rows := manyMade()
	for _, f := range keyFrames {
		tb := newTable(termenv.TrueColor, rows, 120, 40)
		if f.name == "scroll" {
			tb.Cursor.Select(rows[40].ID)
		}
		keys, i := [2]keymap.Press{keymap.Parse(f.keys[0]), keymap.Parse(f.keys[1])}, 0
		key := func() {
			tb.Update(keys[i%2])
			tb.Lines()
			i++
		}
		for range 4 * nearPages * 40 { // what is kept has its memory then
			key()
		}
		if got := testing.AllocsPerRun(1000, key); got >= 1 {
			t.Errorf("%s: %.0f allocations a key", f.name, got)
		}
	}
}

// BenchmarkKeyInMadeRows is a key and its frame in the table alone.
func BenchmarkKeyInMadeRows(b *testing.B) {
	rows := manyMade()
	for _, f := range keyFrames {
		b.Run(f.name, func(b *testing.B) {
			tb := newTable(termenv.TrueColor, rows, 120, 40)
			keys, i := [2]keymap.Press{keymap.Parse(f.keys[0]), keymap.Parse(f.keys[1])}, 0
			if f.name == "scroll" {
				tb.Cursor.Select(rows[40].ID)
			}
			b.ReportAllocs()
			for b.Loop() {
				if tb.Update(keys[i%2]); f.name == "scroll" && i%15_000 == 14_999 {
					tb.Cursor.Select(rows[40].ID)
				}
				tb.Lines()
				i++
			}
		})
	}
}
