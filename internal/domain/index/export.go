package index

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"opdeck/api"
	"opdeck/internal/field"
)

// Format is a file format.
type Format string

// The formats.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl" // one record a line, as received
)

// ErrFormat: unknown format.
var ErrFormat = errors.New("index: an export is csv or jsonl")

// progressEvery is the number of rows between progress reports.
const progressEvery = 500

// Export writes a sheet from a list that is frozen at the start. It calls progress now and then and at the end. When
// ctx ends, it stops with ctx's error after a complete row. It returns the number of rows.
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
		if done%progressEvery == 0 {
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

var csvColumns = field.Operations.Sheet()

func newExporter(w io.Writer, format Format) (*exporter, error) {
	e := &exporter{buf: bufio.NewWriterSize(w, 1<<16)}
	switch format {
	case JSONL:
		return e, nil
	case CSV:
		e.csv = csv.NewWriter(e.buf)
		head := make([]string, len(csvColumns))
		for i, c := range csvColumns {
			head[i] = c.Head
		}
		return e, e.csv.Write(head)
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

// oneLine replaces line ends in JSON, which can only be white space, by spaces.
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
		out[i] = c.Cell(o)
	}
	return out
}
