package opindex

import (
	"context"
	"slices"
	"strconv"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

const shownName = "shown" // in index_meta: the version of the mask that rows were made with

// shownVersion is raised when the mask hides more than before, so that rows are
// looked at again.
const shownVersion = "1"

// fillShown works out, once for a store that is older than the mask, what may be
// searched by people who may not reveal account numbers.
func (x *Index) fillShown(ctx context.Context) error {
	v, err := x.Meta(ctx, shownName)
	if err != nil || v == shownVersion {
		return err
	}
	if err := x.fillParties(ctx); err != nil {
		return err
	}
	if err := x.fillHidden(ctx); err != nil {
		return err
	}
	return x.SetMeta(ctx, shownName, shownVersion)
}

// fillParties reads, for each party, one operation that it is part of.
func (x *Index) fillParties(ctx context.Context) error {
	ns, err := store.List(ctx, x.q, store.Value[int64], "SELECT n FROM index_party WHERE scope = ? AND body <> ''", x.scope)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ns, 500) {
		shown := map[int64]string{}
		for _, n := range part {
			if shown[n], err = x.shownOf(ctx, n); err != nil {
				return err
			}
		}
		err = x.db.Write(ctx, func(tx *store.Tx) error {
			for n, s := range shown {
				if err := tx.Exec(ctx, "UPDATE index_party SET shown = ? WHERE n = ?", s, n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shownOf is a party's texts as the mask leaves them: "" when no operation has
// them any more, so that nobody finds by them what may be hidden.
func (x *Index) shownOf(ctx context.Context, n int64) (string, error) {
	var digest string
	if err := x.q.QueryRow(ctx, "SELECT digest FROM index_party WHERE n = ?", n).Scan(&digest); err != nil {
		return "", err
	}
	for _, s := range []struct {
		column string
		of     func(api.Operation) party
	}{
		{"customer", func(o api.Operation) party { return customerParty(o.Customer) }},
		{"source", func(o api.Operation) party { return sideParty(o.Source) }},
		{"destination", func(o api.Operation) party { return sideParty(o.Destination) }},
	} {
		at, err := store.List(ctx, x.q, store.Value[int64], "SELECT n FROM index_op WHERE "+s.column+" = ? LIMIT 1", n)
		if err != nil {
			return "", err
		}
		rows, err := x.records(ctx, at)
		if err != nil {
			return "", err
		}
		for _, r := range rows {
			if p := s.of(r.Op); p.digest() == digest {
				return p.shown(), nil
			}
		}
	}
	return "", nil
}

// fillHidden looks through the texts of all operations.
func (x *Index) fillHidden(ctx context.Context) error {
	for last := int64(0); ; {
		ns, err := store.List(ctx, x.q, store.Value[int64], "SELECT n FROM index_op WHERE scope = ? AND n > ? AND (reference <> '' OR comment <> '' OR doc_text <> '') ORDER BY n LIMIT 2000", x.scope, last)
		if err != nil || len(ns) == 0 {
			return err
		}
		last = ns[len(ns)-1]
		if err := x.hide(ctx, ns); err != nil {
			return err
		}
	}
}

func (x *Index) hide(ctx context.Context, ns []int64) error {
	found := map[int64]filter.MaskedText{}
	err := store.EachIn(ctx, x.q, ns, func(scan store.Scan) error {
		var n int64
		var reference, comment, docs string
		err := scan(&n, &reference, &comment, &docs)
		if h := filter.MaskedTexts(reference, comment, docs); h != 0 && err == nil {
			found[n] = h
		}
		return err
	}, "SELECT n, reference, comment, doc_text FROM index_op WHERE n IN")
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	return x.db.Write(ctx, func(tx *store.Tx) error {
		for n, h := range found {
			if err := tx.Exec(ctx, "UPDATE index_op SET hidden = "+strconv.Itoa(int(h))+" WHERE n = ?", n); err != nil {
				return err
			}
		}
		return nil
	})
}
