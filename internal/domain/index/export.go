package index

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
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

// Export writes the operations that pass the filter, in order, from a list that
// is frozen at the start, and tells progress now and then and at the end. It
// ends early with ctx's error when ctx does; what was written by then is whole
// rows.
func (x *Index) Export(ctx context.Context, w io.Writer, format Format, f filter.OperationExpr, s Sort, progress func(done, total int)) (int, error) {
	out, err := newExporter(w, format)
	if err != nil {
		return 0, err
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	done, all := 0, 0
	err = x.Each(ctx, f, s, x.now(), func(total int, r Record) error {
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

var csvHead = []string{"opid", "status", "type", "payment_type", "created_at", "updated_at", "currency", "amount", "received_currency", "received", "fee_currency", "fee",
	"customer_cuid", "customer", "source", "source_number", "destination", "destination_number", "reference", "comment", "documents", "locked_documents"}

func newExporter(w io.Writer, format Format) (*exporter, error) {
	e := &exporter{buf: bufio.NewWriterSize(w, 1<<16)}
	switch format {
	case JSONL:
		return e, nil
	case CSV:
		e.csv = csv.NewWriter(e.buf)
		return e, e.csv.Write(csvHead)
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
	locked := 0
	for _, d := range o.Documents {
		if d.IsLock {
			locked++
		}
	}
	amount := func(a api.Amount) (string, string) {
		if a.Sum.Empty() {
			return "", ""
		}
		d, err := a.Sum.Decimal()
		if err != nil {
			return csvcell.Text(string(a.Sum.CurrencyCode)), csvcell.Text(a.Sum.Raw())
		}
		return csvcell.Text(string(a.Sum.CurrencyCode)), d.Text('f')
	}
	row := []string{csvcell.Text(string(o.OPID)), csvcell.Text(string(o.Status)), csvcell.Text(string(o.Type)), csvcell.Text(string(o.PaymentType)), moment(o.CreatedAt), moment(o.UpdatedAt)}
	for _, a := range []api.Amount{o.SourceAmount, o.DestinationAmount, o.CommissionAmount} {
		c, v := amount(a)
		row = append(row, c, v)
	}
	return append(row, csvcell.Text(string(o.Customer.CUID)), csvcell.Text(string(o.Customer.Name)), csvcell.Text(string(o.Source.Name())), csvcell.Text(accountNumber(o.Source)),
		csvcell.Text(string(o.Destination.Name())), csvcell.Text(accountNumber(o.Destination)), csvcell.Text(string(o.Reference)), csvcell.Text(string(o.Comment)),
		fmt.Sprint(len(o.Documents)), fmt.Sprint(locked))
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
