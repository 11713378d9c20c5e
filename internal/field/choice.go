package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choice is one chosen column of the list of operations, as stored in the config and the state folder:
//
//	created          of any width
//	amount:24        24 cells wide
//	documents!       kept: other columns are hidden first in a narrow window
type Choice struct {
	Name  string // of ColumnNames
	Width int    // in cells; 0: any
	Kept  bool   // in narrow windows others are hidden first
}

// MaxWidth is the largest width that a person may set, in cells.
const MaxWidth = 200

// ColumnNames lists all columns of operations, the usual ones first.
func ColumnNames() []string {
	var out []string
	for _, f := range Operations.Columns(usual...) {
		out = append(out, f.Name)
	}
	return out
}

// UsualColumns are the columns without a choice.
func UsualColumns() []Choice {
	out := make([]Choice, len(usual))
	for i, name := range usual {
		out[i].Name = name
	}
	return out
}

// Wanted reports whether the person asked for the column, so that others are hidden first: it is kept, has a width,
// or is not a usual one.
func (c Choice) Wanted() bool { return c.Kept || c.Width > 0 || !slices.Contains(usual, c.Name) }

// String formats the choice for ParseColumns: NAME, NAME:WIDTH or NAME!.
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

// ColumnStrings formats a choice for ParseColumns.
func ColumnStrings(list []Choice) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.String()
	}
	return out
}

// ParseColumns parses a choice; aliases are allowed. Each column may occur once; a width is from Column.Least to
// MaxWidth. An empty list is nil. The error is a sentence for people.
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
		return Choice{}, fmt.Errorf("there is no column %q; use one of %s", name, strings.Join(ColumnNames(), ", "))
	}
	c := Choice{Name: f.Name, Kept: kept}
	if sized {
		n, err := strconv.Atoi(width)
		if err != nil || n < f.Column.Least || n > MaxWidth {
			return Choice{}, fmt.Errorf("the width of %s must be from %d to %d", f.Name, f.Column.Least, MaxWidth)
		}
		c.Width = n
	}
	return c, nil
}

// cutItem splits "documents[g-1].isLock" after the bracket.
func cutItem(path string) (item, rest string, ok bool) {
	item, rest, ok = strings.Cut(path, "].")
	return item + "]", rest, ok && strings.HasPrefix(path, "documents[")
}
