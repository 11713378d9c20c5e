package field

import (
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/internal/format/csvcell"
)

// SheetColumn is one column of an export: Cell is safe in a spreadsheet.
type SheetColumn[T any] struct {
	Head string
	Cell func(T) string
}

// Sheet returns the columns of all fields, in the catalogue's order. An amount has two columns, currency and number,
// unless the currency is a field of its own; a party has its name and account number; a partly lockable field has a
// count of locked items.
func (c *Catalogue[T]) Sheet() []SheetColumn[T] {
	var out []SheetColumn[T]
	add := func(head string, cell func(T) string) { out = append(out, SheetColumn[T]{head, cell}) }
	for _, f := range c.fields {
		switch f.Kind {
		case Money:
			if !c.declares(f.JSON + ".currencyCode") {
				add(f.Name+"_currency", func(r T) string { return csvcell.Text(string(f.Money(r).CurrencyCode)) })
			}
			add(f.Name, func(r T) string { return exactAmount(f.Money(r)) })
		case Time:
			add(f.Name, func(r T) string { return exactTime(f.Time(r)) })
		case Count:
			add(f.Name, f.ifReported(func(r T) string { return strconv.Itoa(f.Count(r)) }))
		case Flag:
			add(f.Name, f.ifReported(func(r T) string { return strconv.FormatBool(f.Flag(r)) }))
		case Party:
			add(f.Name, func(r T) string { return csvcell.Text(string(f.Text(r))) })
			add(f.Name+"_number", func(r T) string { return csvcell.Text(accountNumber(f.Party(r))) })
		default:
			add(f.Name, func(r T) string { return csvcell.Text(string(f.Text(r))) })
		}
		if f.Kind == Count && f.Locked != nil {
			add("locked_"+f.Name, f.ifReported(func(r T) string { return strconv.Itoa(f.Locked(r)) }))
		}
	}
	return out
}

// declares reports whether a field has this path in the service's record.
func (c *Catalogue[T]) declares(path string) bool {
	f, rest, ok := c.at(path)
	return ok && rest == "" && f.JSON == path
}

// ifReported is a cell that is empty if the record does not have the field.
func (f Field[T]) ifReported(cell func(T) string) func(T) string {
	return func(r T) string {
		if !f.IsReported(r) {
			return ""
		}
		return cell(r)
	}
}

// exactAmount is an amount without its currency; one that is not a number is written raw.
func exactAmount(m api.Money) string {
	if m.Empty() {
		return ""
	}
	d, err := m.Decimal()
	if err != nil {
		return csvcell.Text(m.Raw())
	}
	return d.Text('f')
}

func exactTime(t api.Time) string {
	if t.IsZero() {
		return csvcell.Text(string(t.Raw))
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func accountNumber(p api.Party) string {
	switch {
	case p.CounterpartyAccount != nil:
		return string(p.CounterpartyAccount.Number)
	case p.Account != nil:
		return string(p.Account.Number)
	}
	return ""
}
