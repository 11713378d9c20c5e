package opindex

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// An operation that only a webhook told has identifiers without names, and so may a record of the service. The names
// that other answers told of an identifier are in index_name. Records stay as they came: a party without a name gets
// the texts of the known one in its columns, and an operation that is read gets them in its fields.

// identity is what a customer or an account within an operation is known by.
type identity struct{ kind, id string }

const (
	aCustomer     = "customer"
	anAccount     = "account"
	aCounterparty = "counterparty"
)

func customerIdentity(c api.CustomerRef) identity {
	return identity{aCustomer, filter.Clean(string(c.CUID))}
}

// sideIdentity is that of the account whose name is the party's.
func sideIdentity(p api.Party) identity {
	switch {
	case p.CounterpartyAccount != nil:
		return identity{aCounterparty, filter.Clean(string(p.CounterpartyAccount.ID))}
	case p.Account != nil:
		return identity{anAccount, filter.Clean(string(p.Account.ID))}
	}
	return identity{}
}

// told is what an answer told of an identity: a customer, or a side with one account.
type told struct {
	Customer api.CustomerRef `json:"customer,omitzero"`
	Side     api.Party       `json:"side,omitzero"`
}

// nameless reports whether the name of p may be known from elsewhere.
func (p party) nameless() bool { return p.name == "" && p.identity.id != "" }

// know adds the texts of a known party with the same identity to one without a name.
func (p *party) know(k party) {
	own := p.shown
	p.name, p.body, p.ids = k.name, p.body+k.body, p.ids+k.ids
	p.shown = func() string { return own() + k.shown() }
}

// loadNames reads what is known of the identifiers, whatever their kind.
func (x *Store) loadNames(ctx context.Context, q store.Querier, ids []string) (map[identity]told, error) {
	out := map[identity]told{}
	slices.Sort(ids)
	return out, store.EachIn(ctx, q, slices.Compact(ids), func(scan store.Scan) error {
		var of identity
		var record []byte
		if err := scan(&of.kind, &of.id, &record); err != nil {
			return err
		}
		var t told
		err := json.Unmarshal(record, &t)
		out[of] = t
		return err
	}, "SELECT kind, id, record FROM index_name WHERE scope = ? AND id IN", x.scope)
}

// name adds to operations the names that are known of their identifiers.
func (x *Store) name(ctx context.Context, ops ...*api.Operation) error {
	var ids []string
	lacks := func(told bool, of identity) {
		if !told && of.id != "" {
			ids = append(ids, of.id)
		}
	}
	for _, o := range ops {
		lacks(o.Customer.Name != "", customerIdentity(o.Customer))
		lacks(o.Source.Name() != "", sideIdentity(o.Source))
		lacks(o.Destination.Name() != "", sideIdentity(o.Destination))
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := x.loadNames(ctx, x.q, ids)
	for _, o := range ops {
		if o.Customer.Name == "" {
			o.Customer.Name = known[customerIdentity(o.Customer)].Customer.Name
		}
		for _, side := range []*api.Party{&o.Source, &o.Destination} {
			if k, ok := known[sideIdentity(*side)]; ok && side.Name() == "" {
				*side = told{Side: *side}.and(k).Side
			}
		}
	}
	return err
}

// and is t with what it lacks of k, what was told of the same identity before. It changes nothing that t points to.
func (t told) and(k told) told {
	t.Customer.Name = cmp.Or(t.Customer.Name, k.Customer.Name)
	if a, b := t.Side.CounterpartyAccount, k.Side.CounterpartyAccount; a != nil && b != nil {
		of, by := a.Counterparty, b.Counterparty
		t.Side.CounterpartyAccount = &api.CounterpartyAccount{ID: a.ID, Name: cmp.Or(a.Name, b.Name),
			Number: cmp.Or(a.Number, b.Number), Counterparty: api.CounterpartyRef{SUID: cmp.Or(of.SUID, by.SUID),
				Name: cmp.Or(of.Name, by.Name), BankName: cmp.Or(of.BankName, by.BankName)}}
	} else if a, b := t.Side.Account, k.Side.Account; a != nil && b != nil {
		t.Side.Account = &api.PartyAccount{ID: a.ID, Name: cmp.Or(a.Name, b.Name), Number: cmp.Or(a.Number, b.Number),
			Customer: api.CustomerRef{CUID: cmp.Or(a.Customer.CUID, b.Customer.CUID),
				Name: cmp.Or(a.Customer.Name, b.Customer.Name)}}
	}
	return t
}

// Named keeps names of customers and accounts that were read elsewhere than in operations.
func (x *Store) Named(ctx context.Context, customers []api.CustomerRef, sides []api.Party) error {
	var all []party
	for _, c := range customers {
		all = append(all, customerParty(c))
	}
	for _, p := range sides {
		all = append(all, sideParty(p))
	}
	if fresh, err := x.newNames(ctx, x.q, all); err != nil || len(fresh) == 0 {
		return err
	}
	return x.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		b := newBatch(x, tx)
		if named, err := b.saveNames(ctx, all); err != nil || named == 0 {
			return err
		}
		return x.bump(ctx, tx)
	})
}

// newNames returns those of the parties whose names are not known as they are.
func (x *Store) newNames(ctx context.Context, q store.Querier, all []party) (map[identity]party, error) {
	fresh, ids := map[identity]party{}, []string{}
	for _, p := range all {
		if a := p.told.Side.Account; a != nil { // its holder has a name, too
			all = append(all, customerParty(a.Customer))
		}
	}
	for _, p := range all {
		if p.name != "" && p.identity.id != "" {
			fresh[p.identity] = p
			ids = append(ids, p.identity.id)
		}
	}
	known, err := x.loadNames(ctx, q, ids)
	for of, k := range known {
		if p, ok := fresh[of]; ok {
			if all := p.told.and(k); reflect.DeepEqual(all, k) {
				delete(fresh, of)
			} else {
				fresh[of] = all.party()
			}
		}
	}
	return fresh, err
}

// saveNames keeps the names of parties, and gives them to the stored parties that lack them: named is how many of
// these there were.
func (b *batch) saveNames(ctx context.Context, all []party) (named int, err error) {
	fresh, err := b.x.newNames(ctx, b.tx, all)
	if err != nil || len(fresh) == 0 {
		return 0, err
	}
	old := map[string][]string{}
	for of := range fresh {
		old[of.kind] = append(old[of.kind], of.id)
	}
	for kind, ids := range old {
		if err := store.ExecIn(ctx, b.tx, ids, "DELETE FROM index_name WHERE scope = ? AND kind = ? AND id IN", b.x.scope,
			kind); err != nil {
			return 0, err
		}
	}
	rows := b.tx.NewInserter("INSERT INTO index_name (scope, id, kind, record)", 4)
	for of, p := range fresh {
		record, err := json.Marshal(p.told)
		if err == nil {
			err = rows.Add(ctx, b.x.scope, of.id, of.kind, record)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := rows.Flush(ctx); err != nil {
		return 0, err
	}
	return b.nameStored(ctx, slices.Collect(maps.Values(fresh)))
}

// nameStored gives their names to stored parties without one. A side's identifiers begin with that of the account.
func (b *batch) nameStored(ctx context.Context, list []party) (named int, err error) {
	type stored struct {
		n int64
		p party
	}
	all, err := store.List(ctx, b.tx, func(scan store.Scan) (s stored, err error) {
		var shown string
		err = scan(&s.n, &s.p.id, &s.p.body, &s.p.ids, &shown)
		s.p.shown = func() string { return shown }
		return s, err
	}, "SELECT n, id, body, ids, shown FROM index_party WHERE scope = ? AND sort = '' AND name = '' AND ids <> ''",
		b.x.scope)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	byID := map[string]party{}
	for _, p := range list {
		byID[p.id+filter.JoinTexts([]string{p.identity.id})] = p
	}
	for _, s := range all {
		end := strings.Index(s.p.ids[1:], s.p.ids[:1]) + 2
		k, ok := byID[s.p.id+s.p.ids[:end]]
		if !ok {
			continue
		}
		named++
		s.p.know(k)
		if err := b.tx.Exec(ctx, "UPDATE index_party SET name = ?, sort = ?, body = ?, ids = ?, shown = ? WHERE n = ?",
			s.p.name, s.p.sort(), s.p.body, s.p.ids, s.p.shown(), s.n); err != nil {
			return named, err
		}
	}
	return named, nil
}

// nameNew keeps the names of new parties, and names those of them that lack one.
func (b *batch) nameNew(ctx context.Context, missing map[string]party) error {
	if _, err := b.saveNames(ctx, slices.Collect(maps.Values(missing))); err != nil {
		return err
	}
	var ids []string
	for _, p := range missing {
		if p.nameless() {
			ids = append(ids, p.identity.id)
		}
	}
	known, err := b.x.loadNames(ctx, b.tx, ids)
	for d, p := range missing {
		if k, ok := known[p.identity]; ok && p.nameless() {
			p.know(k.party())
			missing[d] = p
		}
	}
	return err
}

// party is the party of what was told.
func (t told) party() party {
	if t.Customer != (api.CustomerRef{}) {
		return customerParty(t.Customer)
	}
	return sideParty(t.Side)
}

// nameParties finds or creates customers and sides.
func (b *batch) nameParties(ctx context.Context, list []*opRow) error {
	missing := map[string]party{} // by digest
	for _, r := range list {
		for _, p := range []party{r.customer, r.source, r.destination} {
			missing[p.digest()] = p
		}
	}
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
	for d, p := range missing {
		if err := rows.Add(ctx, next, b.x.scope, d, p.id, p.name, p.sort(), p.body, p.ids,
			p.shown()); err != nil {
			return err
		}
		b.parties[p.key] = next
		next++
	}
	return rows.Flush(ctx)
}
