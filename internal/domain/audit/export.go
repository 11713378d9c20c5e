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

// A line of an export: the hash, then the exact bytes of the record.
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

// parseLine splits a line, which must be exact.
func parseLine(line []byte) (hash string, record []byte, ok bool) {
	head := len(exportOpen) + hashLen + len(exportMid)
	if len(line) <= head+len(exportEnd) || !bytes.HasPrefix(line, []byte(exportOpen)) ||
		!bytes.HasSuffix(line, []byte(exportEnd)) ||
		string(line[len(exportOpen)+hashLen:head]) != exportMid {
		return "", nil, false
	}
	hash = string(line[len(exportOpen) : len(exportOpen)+hashLen])
	raw, err := hex.DecodeString(hash)
	return hash, line[head : len(line)-len(exportEnd)], err == nil && hex.EncodeToString(raw) == hash
}

// Export writes the records from seq from to seq to (0: the current end) as JSON lines with exact bytes and hashes,
// and returns their number. The person in ctx needs api.MayAuditOut. The export is recorded first and contains its
// own record; if that fails, there is no export.
func (rd *Reader) Export(ctx context.Context, w io.Writer, from, to int64) (int64, error) {
	from = max(from, 1)
	detail := fmt.Sprintf("records %d to the end", from)
	if to > 0 {
		detail = fmt.Sprintf("records %d to %d", from, to)
	}
	if err := rd.log.mayExport(ctx, api.Event{Name: EventExport, Object: "audit", Detail: detail}); err != nil {
		return 0, err
	}
	head, err := rd.opt.Store.Head(ctx)
	if err != nil {
		return 0, err
	}
	if to <= 0 || to > head.N {
		to = head.N
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var n int64
	err = rd.each(ctx, from, to, func(r Row) error {
		n++
		_, err := out.Write(append(exportLine(r.Hash, r.Bytes), '\n'))
		return err
	})
	return n, errors.Join(err, out.Flush())
}
