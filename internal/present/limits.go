package present

import (
	"fmt"
	"strings"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Budget is the usage of a class of calls.
type Budget struct {
	limit.Usage
	Read time.Duration // the age of the usage
}

// Budgets returns budgets of usages read ago earlier.
func Budgets(list []limit.Usage, ago time.Duration) []Budget {
	out := make([]Budget, len(list))
	for i, u := range list {
		out[i] = Budget{u, ago}
	}
	return out
}

// BudgetColumns are the columns of a list of budgets.
var BudgetColumns = []Column[Budget]{
	textColumn("class", field.Column{}, Budget.class),
	numberColumn("per minute", field.Column{}, func(b Budget) int64 { return int64(b.Recommended) }),
	numberColumn("used", field.Column{}, func(b Budget) int64 { return int64(b.Used) }),
	numberColumn("room", field.Column{Title: "left"}, func(b Budget) int64 { return int64(b.Room) }),
	{Name: "next slot", Column: field.Column{Title: "next call"}, Align: Right, Cell: func(_ Options, b Budget) Cell {
		if left := b.slot(); left > 0 {
			return Cell{Text: lasts(left)}
		}
		return Cell{Text: "now"}
	}, Exact: func(b Budget) string {
		if b.NextSlot > 0 {
			return fmt.Sprintf("%.1f s", b.NextSlot)
		}
		return "now"
	}},
	numberColumn("throttled", field.Column{Title: "429 (1 h)"}, func(b Budget) int64 { return int64(b.Throttled) }),
	numberColumn("waiting", field.Column{}, func(b Budget) int64 { return int64(b.Waiting) }),
}

// class is the name of the class.
// Held reports whether no call is sent because the service asked to wait.
func (b Budget) Held() bool { return b.left(b.Blocked) > 0 }

func (b Budget) class() string { return safe(string(b.Class), 20) }

// Look is bad if calls are throttled or exceeded the rate, and a warning if the next call waits. A budget of one call
// a minute is full after each call, which matters only when another call waits.
func (b Budget) Look() Look {
	switch {
	case b.left(b.Blocked) > 0 || b.Over > 0 || b.Throttled > 0:
		return Look{SignBad, Bad}
	case b.Room == 0 && (b.Recommended > 1 || b.Waiting > 0):
		return Look{SignWarn, Warn}
	}
	return Look{SignGood, Good}
}

// RowLook is Look in a list, which also marks a budget of which two thirds are used.
func (b Budget) RowLook() Look {
	if look := b.Look(); look.Tone != Good || b.Recommended <= 1 || b.Used*3 < b.Recommended*2 {
		return look
	}
	return Look{SignWait, Warn}
}

// Line is the budget in a sentence, for output without columns.
func (b Budget) Line() string {
	out := fmt.Sprintf("%s: %d of %d used in the last minute, %d left", b.class(), b.Used, b.Recommended, b.Room)
	if b.Waiting > 0 {
		out += fmt.Sprintf(", %d waiting", b.Waiting)
	}
	if b.Throttled > 0 {
		out += fmt.Sprintf(", %d answers 429", b.Throttled)
	}
	return out + "."
}

// BudgetNotes say which calls wait, and why numbers do not add up to the rate.
func BudgetNotes(list []Budget) []string {
	var out []string
	for _, b := range list {
		if held := b.held(); held != "" {
			out = append(out, held+"."+b.usedBy())
		}
	}
	return append(out, BudgetSums(list)...)
}

// BudgetSums say which calls exceeded the rate, and why numbers do not add up to it.
func BudgetSums(list []Budget) []string {
	var out []string
	for _, b := range list {
		if b.Over > 0 {
			out = append(out, b.over()+"."+b.usedBy())
		}
		if sum := b.Sum(); sum != "" {
			out = append(out, sum)
		}
	}
	return out
}

func (b Budget) over() string {
	return fmt.Sprintf("%s: %d calls in the last minute exceeded the recommended rate", b.class(), b.Over)
}

// usedBy names those who used the budget, most calls first.
func (b Budget) usedBy() string {
	var out []string
	for _, u := range b.Users[:min(len(b.Users), 3)] {
		out = append(out, fmt.Sprintf("%s (%d)", safe(u.Who, 100), u.Calls))
	}
	if len(out) == 0 {
		return ""
	}
	return " Used by " + strings.Join(out, ", ") + "."
}

// held says that a class has no room, and until when; "" if it has.
func (b Budget) held() string {
	switch {
	case b.left(b.Blocked) > 0:
		return fmt.Sprintf("%s: the service asked all clients to wait; the next call is sent in %s", b.class(),
			lasts(b.left(b.Blocked)))
	case b.Room == 0 && b.slot() > 0:
		return fmt.Sprintf("%s: used up; the next call is sent in %s", b.class(), lasts(b.slot()))
	}
	return ""
}

// slot is the time to the next slot.
func (b Budget) slot() time.Duration {
	if b.NextSlot <= 0 {
		return 0
	}
	return b.left(time.Duration(b.NextSlot * float64(time.Second)))
}

// left is what remains of a time that was reported with the usage, in whole seconds, rounded up: the last one is
// "1s".
func (b Budget) left(d time.Duration) time.Duration {
	return max((d - b.Read + time.Second - 1).Truncate(time.Second), 0)
}

// lasts formats a time until an event.
func lasts(d time.Duration) string {
	out, _ := format.Until(time.Unix(0, 0).Add(d), time.Unix(0, 0))
	return out
}
