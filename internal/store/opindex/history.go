package opindex

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// maxStates bounds the history of one operation; the oldest are dropped first, except the very first.
const maxStates = 50

// keepHistory saves the states of operations that are about to be replaced; ns are their numbers.
func (b *batch) keepHistory(ctx context.Context, ns []int64, opids []string) error {
	err := store.ExecIn(ctx, b.tx, ns, `INSERT INTO index_history
		(scope, opid, seq, at_us, updated_us, origin, body, ended_us) SELECT o.scope, o.opid,
		COALESCE((SELECT MAX(h.seq) FROM index_history h WHERE h.scope = o.scope AND h.opid = o.opid), 0) + 1,
		o.changed_us, o.updated_us, o.origin, r.body, CAST(? AS BIGINT)
		FROM index_op o JOIN index_raw r ON r.n = o.n WHERE o.n IN`, b.now)
	if err != nil {
		return err
	}
	return store.ExecIn(ctx, b.tx, opids, `DELETE FROM index_history WHERE seq > 1 AND scope = ?
		AND seq <= (SELECT MAX(h.seq) FROM index_history h
			WHERE h.scope = index_history.scope AND h.opid = index_history.opid) - ? AND opid IN`, b.x.scope, maxStates)
}

// History returns the states of an operation, oldest first, ending with the current one.
func (x *Store) History(ctx context.Context, opid string) ([]index.State, error) {
	present, err := x.Get(ctx, opid)
	if err != nil {
		return nil, err
	}
	var out []index.State
	err = store.Each(ctx, x.q, func(scan store.Scan) (err error) {
		var at int64
		var s index.State
		var body []byte
		if err := scan(&at, &s.Origin, &body); err != nil {
			return err
		}
		if s.Gone = len(body) == 0; !s.Gone {
			s.Op, err = decodeOp(body)
		} else if len(out) > 0 {
			s.Op = out[len(out)-1].Op
		}
		s.At = micros(at)
		out = append(out, s)
		return err
	}, "SELECT at_us, origin, body FROM index_history WHERE scope = ? AND opid = ? ORDER BY seq", x.scope, opid)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if err := x.name(ctx, &out[i].Op); err != nil {
			return nil, err
		}
	}
	out = append(out,
		index.State{Op: present.Op, At: present.Changed, Origin: present.Origin, Current: present.Gone.IsZero()})
	if !present.Gone.IsZero() {
		out = append(out, index.State{Op: present.Op, At: present.Gone, Origin: index.Read, Current: true, Gone: true})
	}
	return out, nil
}

// decodeOp decodes a stored operation, which keeps body.
func decodeOp(body []byte) (o api.Operation, err error) {
	record, err := unpack(body)
	if err == nil {
		o, err = api.ReadOperation(record)
	}
	if err != nil {
		return o, fmt.Errorf("index: a stored operation cannot be read: %w", err)
	}
	return o, nil
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// MarkSeen records that a person has seen the operation ("" for the list).
func (x *Store) MarkSeen(ctx context.Context, person, opid string, at time.Time) error {
	return x.db.Exec(ctx, `INSERT INTO index_look (scope, person, opid, at_us) VALUES (?, ?, ?, ?)
		ON CONFLICT (scope, person, opid) DO UPDATE SET at_us = excluded.at_us WHERE excluded.at_us > index_look.at_us`,
		x.scope, person, opid, at.UnixMicro())
}

// LastSeen is when the person last saw the operation; the zero time for never.
func (x *Store) LastSeen(ctx context.Context, person, opid string) (time.Time, error) {
	at, _, err := store.Find[int64](ctx, x.q, "SELECT at_us FROM index_look WHERE scope = ? AND person = ? AND opid = ?",
		x.scope, person, opid)
	return sight(at), err
}

// Owed lists operations whose single read is due, longest overdue first.
func (x *Store) Owed(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return store.List(ctx, x.q, store.Value[string], `SELECT opid FROM (
		SELECT opid, doubt_us AS due FROM index_op WHERE scope = ? AND doubt > 0 AND doubt_us <= ?
		UNION ALL SELECT opid, due_us AS due FROM index_absent WHERE scope = ? AND due_us > 0 AND due_us <= ?) AS o
		ORDER BY due LIMIT ?`,
		x.scope, now.UnixMicro(), x.scope, now.UnixMicro(), limit)
}

// Owe makes a single read of an operation due.
func (x *Store) Owe(ctx context.Context, opid string, at time.Time) error {
	if !usableID(opid) {
		return nil
	}
	return x.db.Write(ctx, func(tx *store.Tx) error {
		n, err := store.Affected(tx.Result(ctx,
			"UPDATE index_op SET doubt = CASE WHEN doubt > 0 THEN doubt ELSE 1 END, doubt_us = ? "+
				"WHERE scope = ? AND opid_fold = ? AND opid = ?",
			at.UnixMicro(), x.scope, filter.FoldID(opid), opid))
		if err != nil || n > 0 {
			return err
		}
		return x.announce(ctx, tx, opid, at.UnixMicro())
	})
}

// Postpone delays a failed read.
func (x *Store) Postpone(ctx context.Context, opid string, until time.Time) error {
	return x.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.Exec(ctx, "UPDATE index_op SET doubt_us = ? WHERE scope = ? AND opid_fold = ? AND opid = ? AND doubt > 0",
			until.UnixMicro(), x.scope, filter.FoldID(opid), opid)
		if err == nil {
			err = tx.Exec(ctx, "UPDATE index_absent SET due_us = ? WHERE scope = ? AND opid = ? AND due_us > 0",
				until.UnixMicro(), x.scope, opid)
		}
		return err
	})
}

// absent is an operation of index_absent.
type absent struct {
	opid                string
	gone, seen, changed int64
	origin              index.Origin
	body                []byte
}

// loadAbsent reads which of the unlisted rows are known to be gone or were announced.
func (b *batch) loadAbsent(ctx context.Context, rows []*opRow) error {
	var ids []string
	for _, r := range rows {
		if b.known[r.opid] == nil {
			ids = append(ids, r.opid)
		}
	}
	return store.EachIn(ctx, b.tx, ids, func(scan store.Scan) error {
		a := &absent{}
		err := scan(&a.opid, &a.gone, &a.seen, &a.changed, &a.origin, &a.body)
		b.absent[a.opid] = a
		return err
	}, "SELECT opid, gone_us, seen_us, changed_us, origin, body FROM index_absent WHERE scope = ? AND opid IN", b.x.scope)
}

// arrive handles an operation that is not in the list. A gone one returns only by a later request; a webhook about
// it, or one without data about an unknown operation, makes a read due.
func (b *batch) arrive(r *opRow) {
	a := b.absent[r.opid]
	switch {
	case r.origin == index.Hook && (a != nil && a.gone > 0 || r.updated == noTime):
		b.merged.Older++
		b.doubt[r.opid] = r
		return
	case a != nil && r.seen <= a.gone && a.gone <= b.now: // unless from a clock that was set back since
		b.merged.Older++
		return
	case a != nil:
		b.back[r.opid] = a
		delete(b.absent, r.opid)
	}
	b.write[r.opid] = r
	b.merged.New++
	b.touch(r.opid)
}

// comeBack moves returning operations from index_absent to the history.
func (b *batch) comeBack(ctx context.Context) error {
	for opid, a := range b.back {
		if err := b.tx.Exec(ctx, "DELETE FROM index_absent WHERE scope = ? AND opid = ?", b.x.scope, opid); err != nil {
			return err
		}
		if a.gone == 0 {
			continue
		}
		b.merged.Back++
		for _, s := range []struct {
			at, ended int64
			origin    index.Origin
			body      []byte
		}{{a.changed, a.gone, a.origin, a.body}, // an empty body: gone from here on
			{a.gone, b.now, index.Read, []byte{}}} {
			if err := b.tx.Exec(ctx, `INSERT INTO index_history (scope, opid, seq, at_us, updated_us, origin, body, ended_us)
				SELECT CAST(? AS BIGINT), CAST(? AS TEXT),
				COALESCE((SELECT MAX(h.seq) FROM index_history h WHERE h.scope = ? AND h.opid = ?), 0) + 1,
				CAST(? AS BIGINT), 0, CAST(? AS BIGINT), ?, CAST(? AS BIGINT)`,
				b.x.scope, opid, b.x.scope, opid, s.at, int64(s.origin), s.body, s.ended); err != nil {
				return err
			}
		}
	}
	return nil
}

// announce makes a read due for an operation that is not in the list.
func (x *Store) announce(ctx context.Context, tx *store.Tx, opid string, at int64) error {
	return tx.Exec(ctx, `INSERT INTO index_absent (scope, opid, gone_us, seen_us, changed_us, origin, due_us, body)
		VALUES (?, ?, 0, 0, ?, ?, ?, ?)
		ON CONFLICT (scope, opid) DO UPDATE SET due_us = excluded.due_us`, x.scope, opid, at, int64(index.Hook), at, []byte{})
}

// remove removes from the list what the service no longer has, unless a later request has shown it.
func (b *batch) remove(ctx context.Context, list []index.Gone) error {
	for _, g := range list {
		if _, written := b.write[g.OPID]; written {
			continue
		}
		at := min(g.At.UnixMicro(), b.now)
		var n, seen int64
		var words bool
		err := b.tx.QueryRow(ctx, "SELECT o.n, s.seen_us, "+hasWords+`
			FROM index_op o JOIN index_sight s ON s.n = o.n WHERE o.scope = ? AND o.opid_fold = ? AND o.opid = ?`,
			b.x.scope, filter.FoldID(g.OPID), g.OPID).Scan(&n, &seen, &words)
		switch {
		case errors.Is(err, sql.ErrNoRows): // announced only, or gone already
			if err := b.tx.Exec(ctx, "DELETE FROM index_absent WHERE scope = ? AND opid = ? AND gone_us = 0", b.x.scope,
				g.OPID); err != nil {
				return err
			}
			if err := b.tx.Exec(ctx, "UPDATE index_absent SET due_us = 0 WHERE scope = ? AND opid = ?", b.x.scope,
				g.OPID); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case seen > at:
			continue
		}
		if err := b.tx.Exec(ctx, `INSERT INTO index_absent (scope, opid, gone_us, seen_us, changed_us, origin, due_us, body)
			SELECT o.scope, o.opid, CAST(? AS BIGINT), s.seen_us, o.changed_us, o.origin, 0, r.body
			FROM index_op o JOIN index_sight s ON s.n = o.n JOIN index_raw r ON r.n = o.n WHERE o.n = ?`,
			max(at, 1), n); err != nil {
			return err
		}
		one, worded := []int64{n}, []int64(nil)
		if words {
			worded = one
		}
		if err := b.drop(ctx, one, worded); err != nil {
			return err
		}
		b.merged.Gone++
		b.touch(g.OPID)
	}
	return nil
}

// noteAsked records whose single read was answered.
func (b *batch) noteAsked(ctx context.Context, opids []string) error {
	for _, opid := range opids {
		if err := b.tx.Exec(ctx,
			"UPDATE index_sight SET asked_us = ? WHERE n = "+
				"(SELECT n FROM index_op WHERE scope = ? AND opid_fold = ? AND opid = ?)",
			b.now, b.x.scope, filter.FoldID(opid), opid); err != nil {
			return err
		}
	}
	return nil
}

// swap replaces a fact that still has the value that the caller read.
func (b *batch) swap(ctx context.Context, s *index.Swap) error {
	if s == nil {
		return nil
	}
	query, args := "UPDATE index_meta SET value = ? WHERE scope = ? AND name = ? AND value = ?",
		[]any{s.New, b.x.scope, s.Name, s.Old}
	if s.Old == "" {
		query, args = `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, ?)
			ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value WHERE index_meta.value = ''`,
			[]any{b.x.scope, s.Name, s.New}
	}
	res, err := b.tx.Result(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	b.merged.Swapped = n == 1
	return err
}

// noTime is the value that newRow writes for a record without a time.
var noTime = time.Time{}.UnixMicro()

// PruneHistory removes up to limit states that were replaced before a time by the store's clock, of all accounts, and
// returns how many.
func PruneHistory(ctx context.Context, bulk *store.DB, before time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM index_history WHERE (scope, opid, seq) IN (
			SELECT scope, opid, seq FROM index_history WHERE ended_us < ? ORDER BY ended_us LIMIT ?)`,
			before.UnixMicro(), limit))
		n = int(removed)
		return err
	})
	return n, err
}

// goneBefore selects operations that are gone since before a time, except those with a read that is due.
const goneBefore = `SELECT scope, opid FROM index_absent WHERE gone_us > 0 AND gone_us < ? AND due_us = 0
	ORDER BY gone_us LIMIT ?`

// PruneGone removes up to limit operations that were found gone before a time by the store's clock, of all accounts,
// with their states and who has seen them, and returns how many.
func PruneGone(ctx context.Context, bulk *store.DB, before time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		for _, table := range []string{"index_history", "index_look", "index_absent"} {
			removed, err := store.Affected(tx.Result(ctx, "DELETE FROM "+table+" WHERE (scope, opid) IN ("+goneBefore+")",
				before.UnixMicro(), limit))
			if err != nil {
				return err
			}
			n = int(removed)
		}
		return nil
	})
	return n, err
}

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
		if b.x.postgres() {
			continue
		}
		if err := b.tx.Exec(ctx, "DELETE FROM index_party_words WHERE rowid = ?", s.n); err != nil {
			return named, err
		}
		if err := b.tx.Exec(ctx, partyWords+"n = ?", s.n); err != nil {
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
