package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

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
