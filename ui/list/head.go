package list

import (
	"strings"

	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// NoRows says why there are no rows: an error, a running read, a filter that matches none,
// or no records. on is the key that reads further rows; "" if everything was read.
func (l *List[T]) NoRows(none widget.Notice, on string) widget.Notice {
	k := l.Env.Keys
	clears, changes := k.Global.Back.Help().Key+" clears it", k.List.Filter.Help().Key+" changes it"
	switch {
	case l.Err != nil:
		return widget.Notice{Tone: theme.Bad, Text: l.Err.Public,
			Hint: strings.TrimSpace(remedy.Screen(l.Err) + " " + k.Global.Reload.Help().Key + " tries again.")}
	case !l.Loaded || l.Loads.Busy() && !l.Filter.Typing():
		return widget.Notice{Text: l.spec.Reading}
	case l.Filter.Shown.Empty():
		return none
	case l.Filter.Typing() && l.spec.Further != "": // its keys are text now
		return widget.Notice{Text: l.spec.Further, Hint: k.Form.Submit.Help().Key + " searches all of them"}
	case l.Filter.Typing():
		return widget.Notice{Text: l.spec.None}
	case on != "":
		return widget.Notice{Text: l.spec.Further, Hint: on + " reads older ones; filter: " + changes + ", " + clears}
	}
	return widget.Notice{Text: l.spec.None, Hint: changes + ", " + clears}
}

// Head returns the line above the table: the number of rows, the order, the filter, and
// work in progress.
func (l *List[T]) Head(shown string) string {
	th := l.Env.Theme
	shown += l.ArrivedAbove() + l.Sort.Line(th, l.Sort.mixed())
	if l.Filter.Text != "" {
		shown += th.Dim.Render("  / ") + th.Accent.Render(untrusted.Text(l.Filter.Text).Line(max(l.w-44, 10)))
	}
	if l.Doing != "" {
		shown += th.Info.Render("  " + l.Doing + " …")
	}
	return shown
}

// ArrivedAbove says how many new rows are above the cursor.
func (l *List[T]) ArrivedAbove() string {
	n, th := l.Table.ArrivedAbove(), l.Env.Theme
	if n == 0 {
		return ""
	}
	if th.Linear {
		return "  " + format.Count(n) + " new above"
	}
	return th.Info.Render("  " + th.Signs.Up + " " + format.Count(n) + " new")
}

// stale reports whether the rows are those of an earlier read.
func (l *List[T]) stale() bool { return l.Err != nil && l.rows.Len() > 0 }

// over returns the lines above the table; the last ones warn that the rows are stale.
func (l *List[T]) over() []string {
	if l.spec.OwnStale {
		return l.screen.HeadLines()
	}
	return append(l.screen.HeadLines(), l.Stale()...)
}

// Stale returns the warning that the rows are from an earlier read; nil if they are not.
func (l *List[T]) Stale() []string {
	if !l.stale() {
		return nil
	}
	line := l.Env.ReloadFailed(l.Err)
	if l.Env.Theme.Linear {
		return []string{line}
	}
	return draw.Hang(line, 2, l.w)
}

// Drawn implements ui.Drawer.
func (l *List[T]) Drawn() ui.Drawn {
	if l.Page != nil {
		return ui.Drawn{}
	}
	d := ui.Drawn{Problem: l.Err != nil && (l.rows.Len() == 0 || l.saidStale)}
	if line := l.Table.CursorLine(); line >= 0 {
		d.Cursors = []int{len(l.above) + line}
	}
	return d
}
