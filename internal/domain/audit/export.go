package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"opdeck/api"
)

// A line of an export: the hash and then the exact bytes of the record.
const (
	exportOpen = `{"hash":"`
	exportMid  = `","record":`
	exportEnd  = `}`
	hashLen    = 2 * sha256.Size
)

// exportLine is the line of a record, without its end.
func exportLine(hash string, record []byte) []byte {
	return fmt.Appendf(make([]byte, 0, len(record)+100), "%s%s%s%s%s", exportOpen, hash, exportMid, record, exportEnd)
}

// parseLine takes a line apart to the letter.
func parseLine(line []byte) (hash string, record []byte, ok bool) {
	head := len(exportOpen) + hashLen + len(exportMid)
	if len(line) <= head+len(exportEnd) || !bytes.HasPrefix(line, []byte(exportOpen)) || !bytes.HasSuffix(line, []byte(exportEnd)) ||
		string(line[len(exportOpen)+hashLen:head]) != exportMid {
		return "", nil, false
	}
	hash = string(line[len(exportOpen) : len(exportOpen)+hashLen])
	raw, err := hex.DecodeString(hash)
	return hash, line[head : len(line)-len(exportEnd)], err == nil && hex.EncodeToString(raw) == hash
}

// Export writes the records from seq from to seq to (0: the end, as it is now)
// as JSON lines with the exact bytes of the records and their hashes, and
// returns their number. The person in ctx needs api.MayAuditOut. The export is
// recorded first, and is part of itself; without a record there is no export.
func (l *Log) Export(ctx context.Context, w io.Writer, from, to int64) (int64, error) {
	from = max(from, 1)
	detail := fmt.Sprintf("records %d to the end", from)
	if to > 0 {
		detail = fmt.Sprintf("records %d to %d", from, to)
	}
	if err := l.mayExport(ctx, api.Event{Name: EventExport, Object: "audit", Detail: detail}); err != nil {
		return 0, err
	}
	head, err := l.opt.Store.Head(ctx)
	if err != nil {
		return 0, err
	}
	if to <= 0 || to > head.N {
		to = head.N
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var n int64
	err = l.each(ctx, from, to, func(r Row) error {
		n++
		_, err := out.Write(append(exportLine(r.Hash, r.Bytes), '\n'))
		return err
	})
	return n, errors.Join(err, out.Flush())
}

// mayExport checks that the person in ctx may export, and records that they do.
func (l *Log) mayExport(ctx context.Context, e api.Event) error {
	if err := l.mustMay(ctx, "export the audit trail", api.MayAuditOut); err != nil {
		return err
	}
	if err := l.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return &api.Error{Op: "export the audit trail", Kind: api.Refused, Rule: api.RuleAudit,
			Public: "The audit trail cannot be written, so nothing is taken out of it.",
			Remedy: api.Remedy{Kind: api.CheckStore}, Err: err}
	}
	return nil
}

// each calls fn for the rows in order.
func (l *Log) each(ctx context.Context, from, to int64, fn func(Row) error) error {
	for from <= to {
		rows, err := l.opt.Store.Rows(ctx, from, 500)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		for _, r := range rows {
			if r.Seq > to {
				return nil
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		from = rows[len(rows)-1].Seq + 1
	}
	return nil
}
