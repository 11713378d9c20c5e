package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"opdeck/internal/system/wholefile"
)

// A segment is written once this many records are old enough, or segmentAge after the oldest of them was.
const (
	segmentLeast = 1000
	segmentMost  = 5000
	segmentAge   = 24 * time.Hour
	dropBatch    = 200
)

// Archivist moves old records from the store to signed segments.
type Archivist struct {
	*core
	signer *Signer
}

// Step does one unit of due work: it removes archived records from the store, or writes the next segment of records
// older than before. more: there may be further work. It is crash-safe: the file is complete before the store records
// it, and recorded before records are removed.
func (ar *Archivist) Step(ctx context.Context, before time.Time) (more bool, err error) {
	if !ar.signs() || ar.opt.Archive == "" {
		return false, nil
	}
	last, err := ar.archived(ctx)
	if err != nil {
		return false, err
	}
	if last.Last > 0 {
		if n, err := ar.opt.Store.DropArchived(ctx, dropBatch); err != nil || n > 0 {
			return true, err
		}
	}
	rows, end, err := ar.next(ctx, last, before)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if err := ar.genuine(ctx, last, rows, end); err != nil {
		return false, ar.signer.checkpointResult(ctx, err)
	}
	s, err := ar.write(rows, end)
	if err != nil {
		return false, err
	}
	return true, ar.opt.Store.Archive(ctx, s)
}

// next returns the records of the next segment and the checkpoint that ends it; none if it is not due. If a file was
// written but not yet recorded in the store, it determines the end.
func (ar *Archivist) next(ctx context.Context, last Segment, before time.Time) ([]Row, Signed, error) {
	rows, err := ar.opt.Store.Rows(ctx, last.Last+1, segmentMost)
	if err != nil || len(rows) == 0 || !rows[0].At.Before(before) {
		return nil, Signed{}, err
	}
	n := 0
	for n < len(rows) && rows[n].Seq == last.Last+1+int64(n) && rows[n].At.Before(before) {
		n++
	}
	if n == 0 {
		return nil, Signed{}, &TamperedError{N: last.Last + 1, Reason: fmt.Sprintf("record %d is missing", last.Last+1)}
	}
	if n < segmentLeast && !rows[0].At.Before(before.Add(-segmentAge)) {
		return nil, Signed{}, nil
	}
	name, err := ar.signer.CheckpointFile(ctx)
	if err != nil {
		return nil, Signed{}, err
	}
	points, err := readCheckpointFile(name)
	if err != nil {
		return nil, Signed{}, err
	}
	lost, err := ar.signer.restores(ctx)
	if err != nil {
		return nil, Signed{}, err
	}
	points = kept(points, lost)
	end := Signed{}
	for _, p := range points {
		if p.N <= last.Last || p.N > last.Last+int64(n) || p.N < end.N || !p.By(ar.opt.Key.Public()) {
			continue
		}
		end = p
		if _, err := os.Lstat(filepath.Join(ar.opt.Archive, fileName(p.Chain, last.Last+1, p.N))); err == nil {
			break // already written
		}
	}
	return rows[:max(0, end.N-last.Last)], end, nil
}

// genuine checks that the records are those that the checkpoint signed.
func (ar *Archivist) genuine(ctx context.Context, last Segment, rows []Row, end Signed) error {
	prev := last.Hash
	if last.Last == 0 {
		prev = zeroHash
	}
	edge, err := ar.signer.edgeOf(ctx, last.Last)
	if err != nil {
		return err
	}
	for _, row := range rows {
		e := entry(row)
		if e.Damaged || e.Prev != prev || e.Seq != row.Seq || e.Chain != end.Chain {
			return &TamperedError{N: end.N, Reason: fmt.Sprintf("record %d is not as it was written; it is not archived",
				row.Seq)}
		}
		prev = row.Hash
		if edge.fits(row.Seq - 1) {
			_, edge = edge.grow(row.Seq-1, row.Bytes)
		}
	}
	if prev != end.Head || edge.fits(end.N) && edge.root() != end.Root {
		return &TamperedError{N: end.N, Reason: fmt.Sprintf("record %d is not the one that was signed; it is not archived",
			end.N)}
	}
	return nil
}

// write writes the segment durably. An existing file with the same records is reused.
func (ar *Archivist) write(rows []Row, end Signed) (Segment, error) {
	first, lastRow := rows[0], rows[len(rows)-1]
	host, _ := os.Hostname()
	s := Segment{First: first.Seq, Last: lastRow.Seq, Hash: lastRow.Hash, At: lastRow.At, Folder: ar.opt.Archive,
		Host: host, File: fileName(end.Chain, first.Seq, lastRow.Seq)}
	var b bytes.Buffer
	for _, r := range rows {
		b.Write(append(exportLine(r.Hash, r.Bytes), '\n'))
	}
	b.Write(append(bytes.Clone(end.Line), '\n'))
	fail := func(err error) (Segment, error) {
		return s, fmt.Errorf("audit: the archive cannot be written: %w", err)
	}
	if err := os.MkdirAll(ar.opt.Archive, 0o700); err != nil {
		return fail(err)
	}
	err := wholefile.Create(ar.path(s), b.Bytes())
	if !errors.Is(err, fs.ErrExist) {
		if err != nil {
			return fail(err)
		}
		return s, nil
	}
	there, err := os.ReadFile(ar.path(s))
	if err == nil && !bytes.Equal(there, b.Bytes()) {
		err = errors.New(ar.path(s) + " is there with other content")
	}
	if err != nil {
		return fail(err)
	}
	return s, nil
}
