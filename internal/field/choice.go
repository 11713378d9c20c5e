package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choice is one column of a person's choice for the list of operations, as the
// config and the state folder hold it:
//
//	created          as wide as it likes
//	amount:24        24 cells wide
//	documents!       kept: other columns go first in a narrow window
type Choice struct {
	Name  string // of ColumnNames
	Width int    // cells that a person gave it; 0: as wide as it likes
	Kept  bool   // others are hidden before it in narrow windows
}

// MaxWidth is the most cells that a person may give a column.
const MaxWidth = 200

// ColumnNames lists all columns of operations, those that are usually shown first.
func ColumnNames() []string {
	var out []string
	for _, f := range Operations.Columns(usual...) {
		out = append(out, f.Name)
	}
	return out
}

// UsualColumns is what is shown when nobody has chosen.
func UsualColumns() []Choice {
	out := make([]Choice, len(usual))
	for i, name := range usual {
		out[i].Name = name
	}
	return out
}

// Wanted reports whether a person wants the column, so that others are hidden
// before it: it was kept, given a width, or is not among the usual ones.
func (c Choice) Wanted() bool { return c.Kept || c.Width > 0 || !slices.Contains(usual, c.Name) }

// String is NAME, NAME:WIDTH or NAME! as ParseColumns reads it.
func (c Choice) String() string {
	out := c.Name
	if c.Width > 0 {
		out += ":" + strconv.Itoa(c.Width)
	}
	if c.Kept && !(Choice{Name: c.Name, Width: c.Width}).Wanted() {
		out += "!"
	}
	return out
}

// ColumnStrings is a choice as ParseColumns reads it.
func ColumnStrings(list []Choice) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.String()
	}
	return out
}

// ParseColumns reads a choice; a column may be named by an alias. Each column
// comes once; a width is from Column.Least to MaxWidth. No entries are no
// choice: nil. The error is a sentence for people.
func ParseColumns(list []string) ([]Choice, error) {
	var out []Choice
	for _, e := range list {
		c, err := parseColumn(e)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Choice) bool { return o.Name == c.Name }) {
			return nil, fmt.Errorf("the column %s is listed twice", c.Name)
		}
		out = append(out, c)
	}
	return out, nil
}

func parseColumn(e string) (Choice, error) {
	name, kept := strings.CutSuffix(e, "!")
	name, width, sized := strings.Cut(name, ":")
	f, ok := Operations.Find(name)
	if !ok || f.Column.Min == 0 {
		return Choice{}, fmt.Errorf("there is no column %q; there are %s", name, strings.Join(ColumnNames(), ", "))
	}
	c := Choice{Name: f.Name, Kept: kept}
	if sized {
		n, err := strconv.Atoi(width)
		if err != nil || n < f.Column.Least || n > MaxWidth {
			return Choice{}, fmt.Errorf("the width of %s is a number from %d to %d", f.Name, f.Column.Least, MaxWidth)
		}
		c.Width = n
	}
	return c, nil
}

// cutItem cuts "documents[g-1].isLock" behind the bracket.
func cutItem(path string) (item, rest string, ok bool) {
	item, rest, ok = strings.Cut(path, "].")
	return item + "]", rest, ok && strings.HasPrefix(path, "documents[")
}
