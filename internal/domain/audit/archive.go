package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

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

// Node holds the hashes of the Merkle tree (RFC 6962; the leaves are the records' bytes) that become final with one
// record: that of the record, then those of the subtrees that it completes, smallest first.
type Node struct {
	Seq    int64
	Hashes []byte // 32 bytes each
}

// Edge is the right edge of the tree: the hashes of its complete subtrees, largest first. It suffices to append a
// record and to compute the root.
type Edge []tlog.Hash

// errBehind: the stored hashes of the tree end before the head.
var errBehind = errors.New("audit: the stored tree does not reach the end of the trail")

// EdgeOf returns the edge of a tree of n records, nil if hashes are missing. nodes returns the stored hashes of
// records by seq.
func EdgeOf(n int64, nodes func([]int64) (map[int64][]byte, error)) (Edge, error) {
	seqs, levels := edgeSeqs(n)
	if len(seqs) == 0 {
		return Edge{}, nil
	}
	stored, err := nodes(seqs)
	if err != nil {
		return nil, err
	}
	edge := make(Edge, 0, len(seqs))
	for i, seq := range seqs {
		h, ok := hashAt(stored[seq], levels[i])
		if !ok {
			return nil, nil
		}
		edge = append(edge, h)
	}
	return edge, nil
}

// EdgeSeqs returns the records whose hashes make the edge of a tree of n records.
func EdgeSeqs(n int64) []int64 {
	seqs, _ := edgeSeqs(n)
	return seqs
}

// edgeSeqs is EdgeSeqs with the level of each hash.
func edgeSeqs(n int64) (seqs []int64, levels []int) {
	at := int64(0)
	for level := 62; level >= 0; level-- {
		if n>>level&1 == 1 {
			at += 1 << level
			seqs, levels = append(seqs, at), append(levels, level)
		}
	}
	return seqs, levels
}

// hashAt returns the hash of a level among those of one record.
func hashAt(hashes []byte, level int) (h tlog.Hash, ok bool) {
	if len(hashes) < (level+1)*tlog.HashSize {
		return h, false
	}
	copy(h[:], hashes[level*tlog.HashSize:])
	return h, true
}

// grow appends record n+1 to a tree of n records with that edge.
func (e Edge) grow(n int64, record []byte) (hashes []byte, next Edge) {
	h := tlog.RecordHash(record)
	hashes = append(hashes, h[:]...)
	next = append(make(Edge, 0, len(e)+1), e...)
	for range bits.TrailingZeros64(^uint64(n)) {
		last := len(next) - 1
		h = tlog.NodeHash(next[last], h)
		next = next[:last]
		hashes = append(hashes, h[:]...)
	}
	return hashes, append(next, h)
}

// fits reports whether e can be the edge of a tree of n records.
func (e Edge) fits(n int64) bool { return e != nil && len(e) == bits.OnesCount64(uint64(n)) }

// root is the root hash of a non-empty tree.
func (e Edge) root() tlog.Hash {
	h := e[len(e)-1]
	for i := len(e) - 2; i >= 0; i-- {
		h = tlog.NodeHash(e[i], h)
	}
	return h
}

// tree is the Merkle tree of the records in the store.
type tree struct {
	*core
	growing sync.Mutex // serialises work on a tree that is behind
}

// storedHashes reads the tree's hashes from the store, numbered as in package tlog.
func (t *tree) storedHashes(ctx context.Context) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		seqs := make([]int64, len(indexes))
		levels := make([]int, len(indexes))
		for i, x := range indexes {
			level, n := tlog.SplitStoredHashIndex(x)
			seqs[i], levels[i] = (n+1)<<level, level
		}
		nodes, err := t.opt.Store.Nodes(ctx, seqs)
		if err == nil {
			err = t.addArchived(ctx, seqs, nodes)
		}
		if err != nil {
			return nil, err
		}
		out := make([]tlog.Hash, len(indexes))
		for i, seq := range seqs {
			h, ok := hashAt(nodes[seq], levels[i])
			if !ok {
				return nil, errBehind
			}
			out[i] = h
		}
		return out, nil
	}
}

// addArchived adds the hashes of records that are only in the archive.
func (t *tree) addArchived(ctx context.Context, seqs []int64, nodes map[int64][]byte) error {
	missing := map[int64]bool{}
	for _, seq := range seqs {
		if _, ok := nodes[seq]; !ok {
			missing[seq] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	made, err := t.archivedNodes(ctx, missing)
	maps.Copy(nodes, made)
	return err
}

func (t *tree) edgeOf(ctx context.Context, n int64) (Edge, error) {
	return EdgeOf(n, func(seqs []int64) (map[int64][]byte, error) { return t.opt.Store.Nodes(ctx, seqs) })
}

// rootAt is the root of the tree of the first n records, from the stored hashes.
func (t *tree) rootAt(ctx context.Context, n int64) (tlog.Hash, error) {
	return tlog.TreeHash(n, t.storedHashes(ctx))
}

// edge returns the head with the edge of its tree, which is completed if hashes are missing.
func (t *tree) edge(ctx context.Context) (Head, error) {
	head, err := t.storedEdge(ctx)
	if !errors.Is(err, errBehind) {
		return head, err
	}
	if err := t.catchUp(ctx); err != nil {
		return head, err
	}
	return t.storedEdge(ctx)
}

func (t *tree) storedEdge(ctx context.Context) (Head, error) {
	head, err := t.opt.Store.Head(ctx)
	if err != nil {
		return head, err
	}
	head.Edge, err = t.edgeOf(ctx, head.N)
	if err == nil && !head.Edge.fits(head.N) {
		err = errBehind
	}
	return head, err
}

// catchUpPage is how many records are added to the tree at once.
const catchUpPage = 2000

// catchUp completes the stored tree up to the head, for example after the table was emptied. If there are gaps, it
// recomputes all hashes.
func (t *tree) catchUp(ctx context.Context) error {
	t.growing.Lock()
	defer t.growing.Unlock()
	archived, err := t.archived(ctx)
	if err != nil {
		return err
	}
	count, last, err := t.opt.Store.TreeSize(ctx, archived.Last)
	if err != nil {
		return err
	}
	head, err := t.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	if count != last-archived.Last || last >= head.N { // a gap: recompute all
		last = archived.Last
	}
	edge, err := t.edgeOf(ctx, last)
	if err != nil {
		return err
	}
	if !edge.fits(last) {
		if last, edge, err = t.archivedEdge(ctx, archived.Last); err != nil {
			return err
		}
	}
	return t.grow(ctx, last, head.N, edge)
}

// archivedEdge recomputes and stores the edge of the tree at the end of the archive.
func (t *tree) archivedEdge(ctx context.Context, n int64) (int64, Edge, error) {
	if n == 0 {
		return 0, Edge{}, nil
	}
	nodes := map[int64][]byte{}
	seqs := EdgeSeqs(n)
	if err := t.addArchived(ctx, seqs, nodes); err != nil {
		return 0, nil, err
	}
	var list []Node
	for _, seq := range seqs {
		list = append(list, Node{Seq: seq, Hashes: nodes[seq]})
	}
	if err := t.opt.Store.PutNodes(ctx, list); err != nil {
		return 0, nil, err
	}
	edge, err := t.edgeOf(ctx, n)
	if err == nil && !edge.fits(n) {
		err = errBehind
	}
	return n, edge, err
}

// grow appends the records after last, up to to; edge is the tree's edge at last.
func (t *tree) grow(ctx context.Context, last, to int64, edge Edge) error {
	for last < to {
		rows, err := t.opt.Store.Rows(ctx, last+1, catchUpPage)
		if err != nil {
			return err
		}
		page := make([]Node, 0, len(rows))
		for _, r := range rows {
			if r.Seq != last+1 {
				break
			}
			n := Node{Seq: r.Seq}
			n.Hashes, edge = edge.grow(last, r.Bytes)
			page, last = append(page, n), r.Seq
		}
		if len(page) == 0 {
			return &TamperedError{N: last + 1, Reason: fmt.Sprintf("record %d is missing", last+1)}
		}
		if err := t.opt.Store.PutNodes(ctx, page); err != nil {
			return err
		}
	}
	return nil
}
