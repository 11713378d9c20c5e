package index

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/field"
	"opdeck/internal/host/csvcell"
)

// Format is the form of an export.
type Format string

// The formats.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl" // one record a line, as the service sent it
)

// ErrFormat says that a format is not known.
var ErrFormat = errors.New("index: an export is csv or jsonl")

// tellEvery is after how many rows an export tells its progress.
const tellEvery = 500

// Export writes a sheet: operations from a list that is frozen at the start. It
// tells progress now and then and at the end. It ends early with ctx's error when
// ctx does; what was written by then is whole rows.
func (x *Index) Export(ctx context.Context, w io.Writer, s Sheet, progress func(done, total int)) (int, error) {
	if s.Totals {
		return x.exportTotals(ctx, w, s)
	}
	out, err := newExporter(w, s.Format)
	if err != nil {
		return 0, err
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	done, all := 0, 0
	err = x.Each(ctx, s.Filter, s.Sort, x.now(), func(total int, r Record) error {
		if err := out.row(r.Op); err != nil {
			return err
		}
		done, all = done+1, total
		if done%tellEvery == 0 {
			progress(done, total)
		}
		return ctx.Err()
	})
	if e := out.flush(); err == nil {
		err = e
	}
	progress(done, all)
	return done, err
}

type exporter struct {
	buf *bufio.Writer
	csv *csv.Writer
}

// csvColumn is one column of an export.
type csvColumn struct {
	head string
	cell func(api.Operation) string
}

var csvColumns = exportColumns()

// exportColumns are all fields of the catalogue, in its order. An amount is two
// columns, its currency and the number; a party its name and account number.
func exportColumns() []csvColumn {
	var out []csvColumn
	add := func(head string, cell func(api.Operation) string) { out = append(out, csvColumn{head, cell}) }
	for _, f := range field.Operations.All() {
		switch f.Kind {
		case field.Money:
			if f.Name != "amount" { // its currency is a field
				add(f.Name+"_currency", func(o api.Operation) string { return csvcell.Text(string(f.Money(o).CurrencyCode)) })
			}
			add(f.Name, func(o api.Operation) string { return number(f.Money(o)) })
		case field.Time:
			add(f.Name, func(o api.Operation) string { return moment(f.Time(o)) })
		case field.Count:
			add(f.Name, told(f, func(o api.Operation) string { return strconv.Itoa(f.Count(o)) }))
		case field.Flag:
			add(f.Name, told(f, func(o api.Operation) string { return strconv.FormatBool(f.Flag(o)) }))
		default:
			add(f.Name, func(o api.Operation) string { return csvcell.Text(string(f.Text(o))) })
		}
		switch {
		case f.Kind == field.Party:
			add(f.Name+"_number", func(o api.Operation) string { return csvcell.Text(accountNumber(f.Party(o))) })
		case f.Name == "documents":
			add("locked_documents", lockedDocuments)
		}
	}
	return out
}

// told is a cell that stays empty where the record does not tell the field.
func told(f field.Field[api.Operation], cell func(api.Operation) string) func(api.Operation) string {
	return func(o api.Operation) string {
		if !f.IsTold(o) {
			return ""
		}
		return cell(o)
	}
}

func csvHead() []string {
	out := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		out[i] = c.head
	}
	return out
}

func newExporter(w io.Writer, format Format) (*exporter, error) {
	e := &exporter{buf: bufio.NewWriterSize(w, 1<<16)}
	switch format {
	case JSONL:
		return e, nil
	case CSV:
		e.csv = csv.NewWriter(e.buf)
		return e, e.csv.Write(csvHead())
	}
	return nil, ErrFormat
}

func (e *exporter) row(o api.Operation) error {
	if e.csv != nil {
		return e.csv.Write(csvRow(o))
	}
	b, err := o.MarshalJSON()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	for _, part := range [][]byte{oneLine(b), {'\n'}} {
		if _, err := e.buf.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// oneLine turns line ends within JSON, which can only be spaces there, into spaces.
func oneLine(b []byte) []byte {
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(b)))
}

func (e *exporter) flush() error {
	if e.csv != nil {
		e.csv.Flush()
		if err := e.csv.Error(); err != nil {
			return err
		}
	}
	return e.buf.Flush()
}

func csvRow(o api.Operation) []string {
	out := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		out[i] = c.cell(o)
	}
	return out
}

// number is an exact amount without its currency; one that is not a number is
// written as it came.
func number(m api.Money) string {
	if m.Empty() {
		return ""
	}
	d, err := m.Decimal()
	if err != nil {
		return csvcell.Text(m.Raw())
	}
	return d.Text('f')
}

func lockedDocuments(o api.Operation) string {
	if !o.DocumentsTold() {
		return ""
	}
	locked := 0
	for _, d := range o.Documents {
		if d.IsLock {
			locked++
		}
	}
	return strconv.Itoa(locked)
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

func moment(t api.Time) string {
	if t.IsZero() {
		return csvcell.Text(string(t.Raw))
	}
	return t.UTC().Format(time.RFC3339Nano)
}
