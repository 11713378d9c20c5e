package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/field"
	"opdeck/internal/format/csvcell"
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

// FormatOf is the format that the name of a file asks for.
func FormatOf(name string) (Format, bool) {
	f := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
	return f, f == CSV || f == JSONL
}

// progressEvery is the number of rows between progress reports.
const progressEvery = 500

// Export writes a sheet from a list that is frozen at the start. It calls progress now and then and at the end. When
// ctx ends, it stops with ctx's error after a complete row. It returns the number of rows.
func (x *Index) Export(ctx context.Context, w io.Writer, s Sheet, progress func(done, total int)) (int, error) {
	if s.Totals {
		return x.exportTotals(ctx, w, s)
	}
	out, err := newExporter(w, s)
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
	csv *csvcell.Writer // nil: JSON lines
}

var csvColumns = field.Operations.Sheet()

func newExporter(w io.Writer, s Sheet) (*exporter, error) {
	e := &exporter{buf: bufio.NewWriterSize(w, 1<<16)}
	switch s.Format {
	case JSONL:
		return e, nil
	case CSV:
		head := make([]string, len(csvColumns))
		for i, c := range csvColumns {
			head[i] = c.Head
		}
		out, err := csvcell.New(e.buf, !s.NoMark, head)
		e.csv = &out
		return e, err
	}
	return nil, ErrFormat
}

func (e *exporter) row(o api.Operation) error {
	if e.csv != nil {
		row := make([]csvcell.Cell, len(csvColumns))
		for i, c := range csvColumns {
			row[i] = c.Cell(o)
		}
		return e.csv.Row(row)
	}
	b, err := o.MarshalJSON()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	_, err = e.buf.WriteString(untrusted.JSON(oneLine(b)) + "\n")
	return err
}

// oneLine replaces line ends in JSON, which can only be white space, by spaces.
func oneLine(b []byte) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(string(b)) }

func (e *exporter) flush() error {
	if e.csv != nil {
		if err := e.csv.Flush(); err != nil {
			return err
		}
	}
	return e.buf.Flush()
}
