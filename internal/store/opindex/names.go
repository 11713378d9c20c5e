package opindex

import (
	"context"
	"maps"
	"slices"

	"opdeck/internal/store"
)

// nameKinds finds or creates the kinds of the rows.
func (b *batch) nameKinds(ctx context.Context, list []*opRow) error {
	for _, r := range list {
		n, err := b.kind(ctx, r.kind)
		if err != nil {
			return err
		}
		r.kindN = n
	}
	return nil
}

func (b *batch) kind(ctx context.Context, k kindKey) (int64, error) {
	if n, ok := b.kinds[k]; ok {
		return n, nil
	}
	b.x.mu.Lock()
	n, ok := b.x.kinds[k]
	b.x.mu.Unlock()
	if ok {
		return n, nil
	}
	n, ok, err := store.Find[int64](ctx, b.tx,
		"SELECT n FROM index_kind WHERE scope = ? AND status = ? AND type = ? AND payment = ? "+
			"AND currency = ? AND tocurrency = ? AND flags = ?",
		b.x.scope, k.status, k.typ, k.payment, k.currency, k.tocurrency, k.flags)
	if err == nil && !ok {
		if n, err = b.next(ctx, "index_kind"); err != nil {
			return 0, err
		}
		err = b.tx.Exec(ctx,
			"INSERT INTO index_kind (n, scope, status, type, payment, currency, tocurrency, flags) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			n, b.x.scope, k.status, k.typ, k.payment, k.currency, k.tocurrency, k.flags)
	}
	if err == nil {
		b.kinds[k] = n
	}
	return n, err
}

// nameParties finds or creates customers and sides.
func (b *batch) nameParties(ctx context.Context, list []*opRow) error {
	missing := map[string]party{}
	b.x.mu.Lock()
	for _, r := range list {
		for _, p := range []party{r.customer, r.source, r.destination} {
			if n, ok := b.x.parties[p.key]; ok {
				b.parties[p.key] = n
			} else {
				missing[p.digest()] = p
			}
		}
	}
	b.x.mu.Unlock()
	if err := b.findParties(ctx, missing); err != nil {
		return err
	}
	if b.derives { // an earlier build kept no names
		var all []party
		for _, r := range list {
			all = append(all, r.customer, r.source, r.destination)
		}
		if _, err := b.saveNames(ctx, all); err != nil {
			return err
		}
	}
	if err := b.makeParties(ctx, missing); err != nil {
		return err
	}
	for _, r := range list {
		r.customerN, r.sourceN, r.destN = b.parties[r.customer.key], b.parties[r.source.key], b.parties[r.destination.key]
	}
	return nil
}

func (b *batch) findParties(ctx context.Context, missing map[string]party) error {
	return store.EachIn(ctx, b.tx, slices.Collect(maps.Keys(missing)), func(scan store.Scan) error {
		var d string
		var n int64
		if err := scan(&d, &n); err != nil {
			return err
		}
		b.parties[missing[d].key] = n
		delete(missing, d)
		return nil
	}, "SELECT digest, n FROM index_party WHERE scope = ? AND digest IN", b.x.scope)
}

func (b *batch) makeParties(ctx context.Context, missing map[string]party) error {
	if len(missing) == 0 {
		return nil
	}
	if err := b.nameNew(ctx, missing); err != nil {
		return err
	}
	next, err := b.next(ctx, "index_party")
	if err != nil {
		return err
	}
	rows := b.tx.NewInserter("INSERT INTO index_party (n, scope, digest, id, name, sort, body, ids, shown)", 9)
	first := next
	for d, p := range missing {
		if err := rows.Add(ctx, next, b.x.scope, d, p.id, p.name, p.sort(), p.body, p.ids,
			p.shown()); err != nil {
			return err
		}
		b.parties[p.key] = next
		next++
	}
	if err := rows.Flush(ctx); err != nil || b.x.postgres() {
		return err
	}
	return b.tx.Exec(ctx, partyWords+"n >= ?", first)
}

// partyWords makes the substring index of parties.
const partyWords = `INSERT INTO index_party_words (rowid, body) SELECT n, body || ids || char(2, 2) FROM index_party
	WHERE body || ids <> '' AND `
