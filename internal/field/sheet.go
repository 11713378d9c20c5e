package field

import (
	"strconv"

	"opdeck/api"
	"opdeck/internal/format/csvcell"
)

// SheetColumn is one column of a CSV file.
type SheetColumn[T any] struct {
	Head string
	Cell func(T) csvcell.Cell
}

// Sheet returns the columns of all fields, in the catalogue's order. An amount has two columns, currency and number,
// unless the currency is a field of its own; a party has its name and account number; a field of lockable items has a
// count of the locked ones, "?" if it is not known.
func (c *Catalogue[T]) Sheet() []SheetColumn[T] {
	var out []SheetColumn[T]
	for _, f := range c.fields {
		if f.Kind == Money && !c.declares(f.currency()) {
			out = append(out, f.currencySheet())
		}
		out = append(out, f.Sheet()...)
	}
	return out
}

// SheetOf returns the columns of these fields. The currency of an amount is the column after it.
func (c *Catalogue[T]) SheetOf(names ...string) []SheetColumn[T] {
	var out []SheetColumn[T]
	for _, f := range c.named(names...) {
		if out = append(out, f.Sheet()...); f.Kind != Money {
			continue
		}
		if own, _, ok := c.at(f.currency()); ok && own.JSON == f.currency() {
			out = append(out, own.Sheet()...)
		} else {
			out = append(out, f.currencySheet())
		}
	}
	return out
}

// currency is the path of an amount's currency.
func (f Field[T]) currency() string { return f.JSON + ".currencyCode" }

func (f Field[T]) currencySheet() SheetColumn[T] {
	return SheetColumn[T]{f.Name + "_currency", func(r T) csvcell.Cell {
		return csvcell.Text(string(f.Money(r).CurrencyCode))
	}}
}

// Sheet returns the columns of a field without the currency of an amount.
func (f Field[T]) Sheet() []SheetColumn[T] {
	var out []SheetColumn[T]
	add := func(head string, cell func(T) csvcell.Cell) { out = append(out, SheetColumn[T]{head, cell}) }
	text := func(r T) csvcell.Cell { return csvcell.Text(string(f.Text(r))) }
	switch f.Kind {
	case Money:
		add(f.Name, func(r T) csvcell.Cell { return amountCell(f.Money(r)) })
	case Time:
		add(csvcell.Zoned(f.Name), func(r T) csvcell.Cell { return timeCell(f.Time(r)) })
	case Count:
		add(f.Name, f.ifReported(func(r T) csvcell.Cell { return csvcell.Number(strconv.Itoa(f.Count(r))) }))
		if f.Locks != nil {
			add("locked_"+f.Name, f.ifReported(func(r T) csvcell.Cell {
				if n := f.Locks(r); n.Unknown == 0 {
					return csvcell.Number(strconv.Itoa(n.Locked))
				}
				return csvcell.Text("?")
			}))
		}
	case Lock:
		add(f.Name, func(r T) csvcell.Cell { return csvcell.Text(f.LockWord(r)) })
	case Flag:
		add(f.Name, f.ifReported(func(r T) csvcell.Cell { return csvcell.Text(strconv.FormatBool(f.Flag(r))) }))
	case Party:
		add(f.Name, text)
		add(f.Name+"_number", func(r T) csvcell.Cell { return csvcell.Text(accountNumber(f.Party(r))) })
	default:
		if f.Column.Decimal {
			text = func(r T) csvcell.Cell { return csvcell.Number(string(f.Text(r))) }
		}
		add(f.Name, text)
	}
	return out
}

// declares reports whether a field has this path in the service's record.
func (c *Catalogue[T]) declares(path string) bool {
	f, rest, ok := c.at(path)
	return ok && rest == "" && f.JSON == path
}

// ifReported is a cell that is empty if the record does not have the field.
func (f Field[T]) ifReported(cell func(T) csvcell.Cell) func(T) csvcell.Cell {
	return func(r T) csvcell.Cell {
		if !f.IsReported(r) {
			return csvcell.Cell{}
		}
		return cell(r)
	}
}

// amountCell is an amount without its currency, "?" if it is not known.
func amountCell(m api.Money) csvcell.Cell {
	if m.Empty() {
		return csvcell.Cell{}
	}
	d, err := m.Decimal()
	if err != nil {
		return csvcell.Text("?")
	}
	return csvcell.Amount(d, string(m.CurrencyCode))
}

// timeCell is a moment; one that is not understood is written raw.
func timeCell(t api.Time) csvcell.Cell {
	if t.IsZero() {
		return csvcell.Text(string(t.Raw))
	}
	return csvcell.Time(t.Time)
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
