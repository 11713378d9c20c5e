package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Segment is a file with archived records: the lines of an export, followed by the checkpoint for the last of them.
// Segments are contiguous.
type Segment struct {
	First, Last int64     // records
	Hash        string    // of the last one
	At          time.Time // of the last one
	File        string    // its name
	Folder      string    // where it was written
	Host        string    // the host that wrote it
}

// fileName is the file name of the segment with these records.
func fileName(chain string, first, last int64) string {
	return fmt.Sprintf("audit-%s-%012d-%012d.jsonl", chain, first, last)
}

// path is the path of a segment on this host.
func (c *core) path(s Segment) string {
	folder := s.Folder
	if c.opt.Archive != "" {
		folder = c.opt.Archive
	}
	return filepath.Join(folder, s.File)
}

// segmentFrom returns the segment with record seq; ok is false while the store holds it.
func (c *core) segmentFrom(ctx context.Context, seq int64) (s Segment, ok bool, err error) {
	list, err := c.opt.Store.Segments(ctx)
	for _, s := range list {
		if s.First <= seq && seq <= s.Last {
			return s, true, err
		}
	}
	return Segment{}, false, err
}

// archived returns the last segment, the zero Segment if there is none.
func (c *core) archived(ctx context.Context) (Segment, error) {
	list, err := c.opt.Store.Segments(ctx)
	if err != nil || len(list) == 0 {
		return Segment{}, err
	}
	return list[len(list)-1], nil
}

// readSegment calls record for each record line of a segment and bad for each other line, and returns the checkpoint
// at its end; the zero Signed if it is missing. A missing file is fs.ErrNotExist.
func (c *core) readSegment(s Segment, record func(hash string, b []byte) error, bad func(line int64)) (Signed, error) {
	f, err := os.Open(c.path(s))
	if err != nil {
		return Signed{}, err
	}
	defer func() { _ = f.Close() }()
	end := Signed{}
	for in := newLines(f); ; {
		line, err := in.next()
		switch {
		case err == io.EOF:
			return end, nil
		case errors.Is(err, errTorn):
			bad(in.n)
			return end, nil
		case err != nil:
			return end, err
		}
		hash, b, ok := parseLine(line)
		if !ok {
			if end, err = parseSigned(bytes.Clone(line)); err != nil {
				bad(in.n)
			}
			continue
		}
		if err := record(hash, bytes.Clone(b)); err != nil {
			return end, err
		}
	}
}

// rowOf rebuilds the row of an archived record.
func rowOf(hash string, b []byte) Row {
	var r Record
	_ = json.Unmarshal(b, &r) // the verification reports what cannot be read
	return Row{Seq: r.Seq, UID: r.UID, At: r.At, Event: r.Event, Phase: r.Phase, Ref: r.Ref, Boot: r.Boot,
		Actor: r.Actor.Name, Object: r.Object, ID: r.ID, Item: r.Item, Bytes: b, Hash: hash}
}

// each calls fn for the records in order, archived ones first.
func (c *core) each(ctx context.Context, from, to int64, fn func(Row) error) error {
	for from <= to {
		s, ok, err := c.segmentFrom(ctx, from)
		if err != nil {
			return err
		}
		if !ok {
			return c.eachStored(ctx, from, to, fn)
		}
		_, err = c.readSegment(s, func(hash string, b []byte) error {
			if r := rowOf(hash, b); r.Seq >= from && r.Seq <= to {
				return fn(r)
			}
			return nil
		}, func(int64) {})
		if err != nil {
			return fmt.Errorf("audit: records %d to %d are in the archive and cannot be read: %w", s.First, s.Last, err)
		}
		from = s.Last + 1
	}
	return nil
}

// archivedNodes recomputes the tree's hashes for some archived records.
func (c *core) archivedNodes(ctx context.Context, seqs map[int64]bool) (map[int64][]byte, error) {
	last, err := c.archived(ctx)
	if err != nil || last.Last == 0 {
		return nil, err
	}
	out := map[int64][]byte{}
	edge, next := Edge{}, int64(1)
	err = c.each(ctx, 1, last.Last, func(r Row) error {
		if r.Seq != next {
			return &TamperedError{N: next, Reason: fmt.Sprintf("record %d is missing in the archive", next)}
		}
		var hashes []byte
		if hashes, edge = edge.grow(next-1, r.Bytes); seqs[next] {
			out[next] = hashes
		}
		next++
		return nil
	})
	return out, err
}
