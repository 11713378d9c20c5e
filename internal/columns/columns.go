// Package columns says which columns a list of operations can show and how a
// person's choice of them is written: in the config and in the state folder.
//
//	created          as wide as it likes
//	amount:24        24 cells wide
//	docs!            kept: other columns go first in a narrow window
package columns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shown is one column of a choice; a choice is a list of them, in the order of
// the screen.
type Shown struct {
	Name  string // of Names
	Width int    // cells that a person gave it; 0: as wide as it likes
	Kept  bool   // others are dropped before it in narrow windows
}

// MaxWidth is the most cells that a person may give a column.
const MaxWidth = 200

type known struct {
	name  string
	least int // cells; what it says would be cut beyond use in less
}

// all are the columns that there are; the first usual ones are shown when nobody
// has chosen.
var all = []known{
	{"created", 16},
	{"status", 8},
	{"type", 5},
	{"via", 4},
	{"amount", 12},
	{"customer", 6},
	{"to", 6},
	{"docs", 4},
	{"updated", 8},
	{"id", 8},
	{"received", 12},
	{"fee", 10},
	{"currency", 4},
	{"from", 6},
	{"reference", 6},
	{"comment", 6},
	{"cuid", 8},
}

const usual = 10

// Names lists all columns, those that are usually shown first.
func Names() []string {
	out := make([]string, len(all))
	for i, k := range all {
		out[i] = k.name
	}
	return out
}

// Least is how narrow a column may be made, in cells; 0 for a name that there is not.
func Least(name string) int {
	if i := place(name); i >= 0 {
		return all[i].least
	}
	return 0
}

func place(name string) int {
	return slices.IndexFunc(all, func(k known) bool { return k.name == name })
}

// Usual is what is shown when nobody has chosen.
func Usual() []Shown {
	out := make([]Shown, usual)
	for i := range out {
		out[i].Name = all[i].name
	}
	return out
}

// Wanted reports whether a person wants the column, so that others are dropped
// before it: it was kept, given a width, or is not among the usual ones.
func (s Shown) Wanted() bool { return s.Kept || s.Width > 0 || place(s.Name) >= usual }

// String is NAME, NAME:WIDTH or NAME! as Parse reads it.
func (s Shown) String() string {
	out := s.Name
	if s.Width > 0 {
		out += ":" + strconv.Itoa(s.Width)
	}
	if s.Kept && !(Shown{Name: s.Name, Width: s.Width}).Wanted() {
		out += "!"
	}
	return out
}

// Strings is a choice as Parse reads it.
func Strings(list []Shown) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.String()
	}
	return out
}

// Parse reads a choice. Each column comes once; a width is from Least to MaxWidth.
// No entries are no choice: nil. The error is a sentence for people.
func Parse(list []string) ([]Shown, error) {
	var out []Shown
	for _, e := range list {
		s, err := parse(e)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Shown) bool { return o.Name == s.Name }) {
			return nil, fmt.Errorf("the column %s comes twice", s.Name)
		}
		out = append(out, s)
	}
	return out, nil
}

func parse(e string) (Shown, error) {
	name, kept := strings.CutSuffix(e, "!")
	name, width, sized := strings.Cut(name, ":")
	least := Least(name)
	if least == 0 {
		return Shown{}, fmt.Errorf("there is no column %q; there are %s", name, strings.Join(Names(), ", "))
	}
	s := Shown{Name: name, Kept: kept}
	if sized {
		n, err := strconv.Atoi(width)
		if err != nil || n < least || n > MaxWidth {
			return Shown{}, fmt.Errorf("the width of %s is a number from %d to %d", name, least, MaxWidth)
		}
		s.Width = n
	}
	return s, nil
}
