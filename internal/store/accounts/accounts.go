// Package accounts stores what all processes share of a machine account: its session (the token pair, the lease to
// replace it, events and instances) and its budgets. They are in one package because a call uses both in one
// transaction (session protocol, rule B1).
package accounts

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/liveness"
	"opdeck/internal/store/seal"
)

// Options configure New.
type Options struct {
	Key   seal.Key     // seals the tokens; see seal.OpenKey
	Log   *slog.Logger // nil: silent
	Clock store.Clock  // for tests; nil: the clock of the database
}

// Store stores the token pairs, the leases to replace them, and the budgets in a core database. It implements
// session.Store and limit.Store. Tokens are sealed; a pair that cannot be unsealed counts as possibly dead.
type Store struct {
	rows
	spent spent

	starting sync.Mutex         // guards listener
	listener *liveness.Listener // PostgreSQL: started on first use
}

// rows reads and writes rows of the session table.
type rows struct {
	db       *store.DB
	clock    store.Clock
	seal     *seal.Sealer
	log      *slog.Logger
	reported sync.Map // incarnation and gen of pairs whose damage was logged
}

var _ session.Store = (*Store)(nil)

// New returns the accounts in core.
func New(core *store.DB, opt Options) (*Store, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Clock == nil {
		opt.Clock = core.Clock()
	}
	sealer, err := seal.New(opt.Key)
	if err != nil {
		return nil, err
	}
	return &Store{rows: rows{db: core, clock: opt.Clock, seal: sealer, log: opt.Log}, spent: spent{core.Path()}}, nil
}

// Close stops the listener for changes. The database stays open.
func (s *Store) Close() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}

// Load implements session.Store.
func (s *Store) Load(ctx context.Context, key session.Key) (session.Row, error) {
	start := time.Now()
	rec, err := s.read(ctx, s.db, key)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && rec.changed:
		return s.change(ctx, key, func(*store.Tx, *record) error { return nil })
	case err != nil:
		return session.Row{}, err
	}
	return s.view(rec, start), nil
}

// Enter implements session.Store. It locks the ring before it reads the row, so that the row is not older than the
// wait for the lock.
func (s *Store) Enter(ctx context.Context, key session.Key, req limit.Request,
	usable func(session.Row) bool) (session.Row, limit.Grant, error) {
	var row session.Row
	var grant limit.Grant
	start := time.Now()
	err := s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		r, err := s.lockRing(ctx, tx, key, req.Class)
		if err != nil {
			return err
		}
		start = time.Now()
		rec, err := s.readOrCreate(ctx, tx, key)
		if err != nil {
			return err
		}
		if rec.changed {
			if err := s.save(ctx, tx, rec); err != nil {
				return err
			}
		}
		row = s.view(rec, start)
		if !usable(row) {
			return nil
		}
		grant, err = s.take(ctx, tx, r, req, rec.now)
		return err
	})
	if err != nil {
		return row, limit.Grant{}, err
	}
	return row, grant, nil
}

// change runs fn on the locked row, created if missing, and stores the changes. It returns the row afterwards.
func (s *Store) change(ctx context.Context, key session.Key, fn func(*store.Tx, *record) error) (session.Row, error) {
	var row session.Row
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if tx.Engine() == store.Postgres { // read the clock after the wait for the lock
			err := tx.Exec(ctx, "SELECT "+store.IdleLimit+" FROM session"+rowWhere+" FOR UPDATE", key.BaseURL, key.Account)
			if err != nil {
				return err
			}
		}
		start := time.Now()
		rec, err := s.readOrCreate(ctx, tx, key)
		if err != nil {
			return err
		}
		if err := fn(tx, rec); err != nil {
			return err
		}
		if rec.changed {
			if err := s.save(ctx, tx, rec); err != nil {
				return err
			}
		}
		row = s.view(rec, start)
		return nil
	})
	return row, err
}

// readOrCreate is read for a transaction that may create the row.
func (s *rows) readOrCreate(ctx context.Context, tx *store.Tx, key session.Key) (*record, error) {
	rec, err := s.read(ctx, tx, key)
	if !errors.Is(err, sql.ErrNoRows) {
		return rec, err
	}
	if err := s.create(ctx, tx, key); err != nil {
		return nil, err
	}
	return s.read(ctx, tx, key)
}

// create creates an empty row unless another process is faster. Events of an earlier row remain, and their numbers
// continue; its counts end.
func (s *rows) create(ctx context.Context, tx *store.Tx, key session.Key) error {
	res, err := tx.Result(ctx, `INSERT INTO session (base_url, account, incarnation, event_seq)
		VALUES (?, ?, ?, (SELECT COALESCE(MAX(seq), 0) FROM session_event WHERE base_url = ? AND account = ?))
		ON CONFLICT DO NOTHING`,
		key.BaseURL, key.Account, newIncarnation(), key.BaseURL, key.Account)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return tx.Exec(ctx, "DELETE FROM session_count"+rowWhere, key.BaseURL, key.Account)
}

// reportDamage logs once per pair that its tokens cannot be unsealed.
func (s *rows) reportDamage(rec *record) {
	id := fmt.Sprintf("%s/%d", rec.row.Incarnation, rec.row.Gen)
	if _, again := s.reported.LoadOrStore(id, true); !again {
		s.log.Warn("store: the stored tokens cannot be unsealed (another key, or the row was changed); the session starts "+
			"with a login",
			"account", maskAccount(rec.key.Account), "gen", rec.row.Gen)
	}
}

// maskAccount shows only the first letter and the domain.
func maskAccount(a string) string {
	at := strings.LastIndexByte(a, '@')
	if at < 1 {
		return "•••"
	}
	return a[:1] + "•••" + a[at:]
}

// record is a row of the session table: session.Row with sealed tokens, and with times of the store's clock instead
// of durations.
type record struct {
	key session.Key
	row session.Row // tokens and durations empty, except TTLs and LeaseFor

	sealedAccess, sealedRefresh []byte
	accessUntil, refreshUntil   time.Duration
	installed                   time.Duration
	leaseBoot                   string
	leaseUntil                  time.Duration
	loginFrom, refreshFrom      time.Duration
	premature                   []prematureAt
	blocks                      []blockAt
	routes                      []routeAt

	now     time.Duration // when it was read
	boot    string        // id of the machine's boot at the read
	changed bool          // differs from the stored row
}

// prematureAt, blockAt and routeAt are the stored entries of the row's lists.
type prematureAt struct {
	session.Premature
	At time.Duration `json:"at"`
}

type blockAt struct {
	session.Block
	At time.Duration `json:"at"`
}

type routeAt struct {
	session.RouteMark
	At time.Duration `json:"at"`
}

const rowWhere = " WHERE base_url = ? AND account = ?"

const rowColumns = `incarnation, gen, pair_state, sealed_access, sealed_refresh, access_ttl_ns, refresh_ttl_ns,
	access_until_ns, refresh_until_ns, installed_ns, made_by, installer, fence, owner, phase, has_lock, lease_boot,
	lease_for_ns, lease_until_ns, fails, login_from_ns, refresh_from_ns, premature, blocks, routes`

// read reads the row and cuts impossible times (rule G3); sql.ErrNoRows if there is none, seal.ErrGivenUp if another
// key has sealed it.
func (s *rows) read(ctx context.Context, q store.Querier, key session.Key) (*record, error) {
	rec, err := s.decode(key, q.QueryRow(ctx, s.rowQuery(), key.BaseURL, key.Account).Scan)
	if err != nil {
		return nil, err
	}
	if _, _, ok := s.open(rec); !ok {
		if err := s.seal.InUse(ctx, q); err != nil { // no damage: another process has another key
			return nil, err
		}
	}
	return rec, nil
}

func (s *rows) rowQuery() string {
	return "SELECT " + rowColumns + ", " + s.clock.Column() + " FROM session" + rowWhere
}

// decode scans the result of rowQuery into a record.
func (s *rows) decode(key session.Key, scan func(...any) error) (*record, error) {
	rec := &record{key: key, boot: s.clock.Boot()}
	r := &rec.row
	var owner, installer, premature, blocks, routes []byte
	var hasLock int
	var us int64
	err := scan(
		&r.Incarnation, &r.Gen, &r.State, &rec.sealedAccess, &rec.sealedRefresh, &r.AccessTTL, &r.RefreshTTL,
		&rec.accessUntil, &rec.refreshUntil, &rec.installed, &r.From, &installer, &r.Fence, &owner, &r.Phase, &hasLock,
		&rec.leaseBoot, &r.LeaseFor, &rec.leaseUntil, &r.Fails, &rec.loginFrom, &rec.refreshFrom, &premature, &blocks,
		&routes, &us)
	if err != nil {
		return nil, err
	}
	r.HasLock = hasLock != 0
	for _, part := range []struct {
		text []byte
		into any
	}{{owner, &r.Owner}, {installer, &r.By}, {premature, &rec.premature}, {blocks, &rec.blocks},
		{routes, &rec.routes}} {
		if err := json.Unmarshal(part.text, part.into); err != nil {
			return nil, fmt.Errorf("store: the session's row is damaged: %w", err)
		}
	}
	rec.now = s.clock.Settle(us)
	rec.cut()
	return rec, nil
}

// cut cuts implausible future times (rule G3): the clock was set back. A lease from before a reboot has expired (rule
// G1).
func (rec *record) cut() {
	limit := func(at *time.Duration, most time.Duration) {
		if *at > rec.now+most {
			*at, rec.changed = rec.now+most, true
		}
	}
	limit(&rec.accessUntil, rec.row.AccessTTL)
	limit(&rec.refreshUntil, rec.row.RefreshTTL)
	limit(&rec.installed, 0)
	limit(&rec.leaseUntil, rec.row.LeaseFor)
	limit(&rec.loginFrom, session.MaxBackoff)
	limit(&rec.refreshFrom, session.MaxBackoff)
	for i := range rec.premature {
		limit(&rec.premature[i].At, 0)
	}
	for i := range rec.blocks {
		limit(&rec.blocks[i].At, 0)
	}
	for i := range rec.routes {
		limit(&rec.routes[i].At, 0)
	}
	if rec.row.Phase != session.Free && !store.SameBoot(rec.leaseBoot, rec.boot) {
		rec.leaseUntil, rec.leaseBoot, rec.changed = 0, rec.boot, true
	}
}

// view is the row as returned to callers. With the database's clock, the duration of the query since start is
// subtracted from what is left (rule G1).
func (s *rows) view(rec *record, start time.Time) session.Row {
	v, now := rec.row, rec.now
	if s.db.Engine() == store.Postgres {
		now += time.Since(start)
	}
	v.Access, v.Refresh = s.unseal(rec)
	if v.State == session.Live && v.Access.Empty() {
		v.State = session.Doubtful
	}
	v.AccessLeft, v.RefreshLeft = max(0, rec.accessUntil-now), max(0, rec.refreshUntil-now)
	v.LeaseLeft = max(0, rec.leaseUntil-rec.now)
	v.LoginWait, v.RefreshWait = max(0, rec.loginFrom-rec.now), max(0, rec.refreshFrom-rec.now)
	v.Age = rec.now - rec.installed
	for _, p := range rec.premature {
		p.Ago = rec.now - p.At
		v.Premature = append(v.Premature, p.Premature)
	}
	for _, b := range rec.blocks {
		b.Ago = rec.now - b.At
		v.Blocks = append(v.Blocks, b.Block)
	}
	for _, m := range rec.routes {
		m.Ago = rec.now - m.At
		v.Routes = append(v.Routes, m.RouteMark)
	}
	v.Pepper = s.seal.Pepper(rec.key)
	v.At = s.clock.Wall(rec.now)
	return v
}

// unseal opens both tokens; if either fails, both are empty.
func (s *rows) unseal(rec *record) (access, refresh secret.Value) {
	access, refresh, ok := s.open(rec)
	if !ok {
		s.reportDamage(rec)
		return secret.Value{}, secret.Value{}
	}
	return access, refresh
}

func (s *rows) open(rec *record) (access, refresh secret.Value, ok bool) {
	access, err1 := s.seal.Open(rec.sealedAccess, rec.sealPlace("access"))
	refresh, err2 := s.seal.Open(rec.sealedRefresh, rec.sealPlace("refresh"))
	return access, refresh, err1 == nil && err2 == nil && (rec.row.State != session.Live || !access.Empty())
}

// sealPlace is the place of a token of the row's current pair.
func (rec *record) sealPlace(token string) seal.Place {
	return seal.Place{Token: token, Key: rec.key, Incarnation: rec.row.Incarnation, Gen: rec.row.Gen}
}

// put seals a pair for the row's current incarnation and gen.
func (s *rows) put(rec *record, access, refresh secret.Value) {
	rec.sealedAccess = s.seal.Seal(access, rec.sealPlace("access"))
	rec.sealedRefresh = s.seal.Seal(refresh, rec.sealPlace("refresh"))
}

// save stores the row. The caller's transaction holds its lock.
func (s *rows) save(ctx context.Context, tx *store.Tx, rec *record) error {
	r := &rec.row
	var lists [5]string
	for i, part := range []any{r.Owner, r.By, list(rec.premature), list(rec.blocks), list(rec.routes)} {
		text, err := json.Marshal(part)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		lists[i] = string(text)
	}
	err := tx.Exec(ctx, "UPDATE session SET "+strings.ReplaceAll(rowColumns, ",", " = ?,")+" = ?"+rowWhere,
		r.Incarnation, r.Gen, string(r.State), rec.sealedAccess, rec.sealedRefresh,
		int64(r.AccessTTL), int64(r.RefreshTTL), int64(rec.accessUntil), int64(rec.refreshUntil), int64(rec.installed),
		string(r.From), lists[1], r.Fence, lists[0], string(r.Phase), store.Bit(r.HasLock), rec.leaseBoot,
		int64(r.LeaseFor), int64(rec.leaseUntil), r.Fails,
		int64(rec.loginFrom), int64(rec.refreshFrom), lists[2], lists[3], lists[4],
		rec.key.BaseURL, rec.key.Account)
	rec.changed = false
	return err
}

// list is s, never null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// newIncarnation returns 128 random bits in hex.
func newIncarnation() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// repeats bounds the retries of a change whose commit got no answer.
const repeats = 3

// again runs do until its result is certain. After a lost answer to a commit it runs do again, which finds the change
// done (rule A8).
func again(do func(repeat bool) error) error {
	err := do(false)
	for range repeats {
		if !store.IsKind(err, store.Unknown) {
			return err
		}
		err = do(true)
	}
	return err
}

// Acquire implements session.Store.
func (s *Store) Acquire(ctx context.Context, key session.Key, c session.Claim) (row session.Row, won bool, err error) {
	err = again(func(repeat bool) error {
		won = false
		row, err = s.change(ctx, key, func(_ *store.Tx, rec *record) error {
			r := &rec.row
			if repeat && r.Fence == c.Fence+1 && r.Owner.ID == c.Owner.ID && r.Phase == session.Held {
				won = true // the commit with the lost answer succeeded
				return nil
			}
			if r.Incarnation != c.Incarnation || r.Gen != c.Gen || r.Fence != c.Fence {
				return nil
			}
			if r.Phase != session.Free && rec.leaseUntil > rec.now && !c.Over {
				return nil
			}
			won = true
			return s.grantLease(rec, c)
		})
		return err
	})
	return row, won && err == nil, err
}

// grantLease changes rec as Claim says. If a pair was used up although the row does not show it, the store was rolled
// back, and the row gets a new incarnation.
func (s *Store) grantLease(rec *record, c session.Claim) error {
	r := &rec.row
	sent := r.Phase.Sent()
	pair := current
	if r.State == session.Live && !sent {
		pair = s.spent.of(rec.key, r.Incarnation, r.Gen)
	}
	if (sent || c.Doubt || pair != current) && r.State == session.Live {
		r.State, rec.sealedRefresh = session.Doubtful, nil
	}
	if c.Premature != nil {
		rec.premature = lastN(append(rec.premature, prematureAt{*c.Premature, rec.now}), session.MaxPremature)
	}
	rec.row.Origin = map[age]session.Origin{older: session.Restored, copied: session.Copied}[pair]
	if c.Renew || pair != current {
		access, refresh := s.unseal(rec)
		if access.Empty() && r.State == session.Live {
			r.State = session.Doubtful
		}
		r.Incarnation = newIncarnation()
		s.put(rec, access, refresh)
		if err := s.spent.note(rec.key, r.Incarnation, r.Gen-1); err != nil {
			return err
		}
	}
	r.Fence++
	r.Phase, r.Owner, r.HasLock = session.Held, c.Owner, c.HasLock
	rec.lease(c.For)
	return nil
}

// lease starts or restarts the lease.
func (rec *record) lease(length time.Duration) {
	rec.row.LeaseFor, rec.leaseUntil, rec.leaseBoot = length, rec.now+length, rec.boot
	rec.changed = true
}

// Mark implements session.Store. A lost answer to the commit is an error: a request that may not be recorded is not
// sent (rule A8).
func (s *Store) Mark(ctx context.Context, key session.Key, m session.Mark) (wait time.Duration, err error) {
	class, phase := m.Kind.Marks()
	_, err = s.change(ctx, key, func(tx *store.Tx, rec *record) error {
		r := &rec.row
		if r.Incarnation != m.Incarnation || r.Fence != m.Fence || r.Owner.ID != m.Owner || r.Phase == session.Free ||
			rec.leaseUntil <= rec.now {
			return session.ErrFenced
		}
		if err := s.seal.InUse(ctx, tx); err != nil { // the answer would be sealed with a key that was given up
			return err
		}
		ring, err := s.lockRing(ctx, tx, key, class)
		if err != nil {
			return err
		}
		g, err := s.take(ctx, tx, ring, limit.Request{Class: class, Rule: m.Rule,
			As: session.SlotOf(m.Incarnation, m.Fence)}, rec.now)
		if err != nil {
			return err
		}
		if !g.Taken {
			wait = max(g.Wait, 1)
			return nil
		}
		r.Phase = phase
		rec.lease(m.For)
		return s.spent.note(key, r.Incarnation, r.Gen)
	})
	if err != nil {
		return 0, err
	}
	return wait, nil
}

// Install implements session.Store.
func (s *Store) Install(ctx context.Context, key session.Key, in session.Install) (row session.Row, err error) {
	fenced := false
	err = again(func(bool) error {
		fenced = false
		row, err = s.change(ctx, key, func(tx *store.Tx, rec *record) error {
			r := &rec.row
			switch {
			case r.Incarnation != in.Incarnation || r.Fence != in.Fence:
				fenced = true
				return nil
			case r.Phase == session.Free && r.State == session.Live && s.holds(rec, in.Access):
				return nil // done before
			case !r.Phase.Sent():
				fenced = true
				return nil
			}
			s.install(rec, in)
			return liveness.Notify(ctx, tx, keyID(key))
		})
		return err
	})
	if err == nil && fenced {
		err = session.ErrFenced
	}
	return row, err
}

// holds reports whether access is the stored token.
func (s *Store) holds(rec *record, access secret.Value) bool {
	have, _ := s.unseal(rec)
	return !access.Empty() && have.Equal(access)
}

func (s *Store) install(rec *record, in session.Install) {
	r := &rec.row
	r.Gen++
	r.State, r.Phase, r.Fails, r.HasLock = session.Live, session.Free, 0, false
	r.AccessTTL, r.RefreshTTL = in.AccessTTL, in.RefreshTTL
	rec.accessUntil, rec.refreshUntil = rec.now+in.AccessTTL-in.Elapsed, rec.now+in.RefreshTTL-in.Elapsed
	rec.installed, r.From, r.By = rec.now, in.Kind, in.By
	rec.loginFrom, rec.refreshFrom = 0, rec.now+min(in.RefreshWait, session.MaxBackoff)
	rec.leaseUntil = 0
	s.put(rec, in.Access, in.Refresh)
	rec.changed = true
}

// Release implements session.Store.
func (s *Store) Release(ctx context.Context, key session.Key, rel session.Release) error {
	return again(func(repeat bool) error {
		_, err := s.change(ctx, key, func(tx *store.Tx, rec *record) error {
			r := &rec.row
			ours := r.Incarnation == rel.Incarnation && r.Fence == rel.Fence
			switch {
			case repeat && ours && r.Phase == session.Free:
				return nil // the commit with the lost answer succeeded
			case !ours || r.Phase == session.Free:
				return session.ErrFenced
			}
			if rel.State == "" && !rel.Spent && r.State == session.Live { // nothing was sent
				if err := s.spent.note(key, r.Incarnation, r.Gen-1); err != nil {
					return err
				}
			}
			if class, phase := rel.Unsent.Marks(); rel.Unsent != "" && r.Phase == phase {
				ring := ring{key: key, class: class}
				if err := tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND ticket = ?",
					ring.args(session.SlotOf(rel.Incarnation, rel.Fence))...); err != nil {
					return err
				}
			}
			rec.release(rel)
			return liveness.Notify(ctx, tx, keyID(key))
		})
		return err
	})
}

func (rec *record) release(rel session.Release) {
	r := &rec.row
	rec.changed = true
	r.Phase, r.HasLock, rec.leaseUntil = session.Free, false, 0
	if rel.Clear {
		r.Fails, rec.loginFrom, rec.refreshFrom, rec.premature, rec.blocks, rec.routes = 0, 0, 0, nil, nil, nil
	}
	if rel.Spent {
		rec.sealedRefresh = nil
	}
	switch rel.State {
	case session.Doubtful:
		if r.State != session.None {
			r.State = session.Doubtful
		}
		rec.sealedRefresh = nil
	case session.None:
		r.State, rec.sealedAccess, rec.sealedRefresh = session.None, nil, nil
	}
	if rel.LoginWait > 0 {
		rec.loginFrom = rec.now + min(rel.LoginWait, session.MaxBackoff)
	}
	if rel.RefreshWait > 0 {
		rec.refreshFrom = rec.now + min(rel.RefreshWait, session.MaxBackoff)
	}
	if rel.Fail {
		r.Fails++
	}
	if b := rel.Block; b != nil {
		rec.blocks = slices.DeleteFunc(rec.blocks, func(have blockAt) bool { return have.Fingerprint == b.Fingerprint })
		rec.blocks = lastN(append(rec.blocks, blockAt{*b, rec.now}), session.MaxBlocks)
	}
}

// Reseal gives up all that another key has sealed: the tokens of every account, and the fingerprints of refused
// passwords. From then on the key of s is the store's, and processes that use another one stop.
func (s *Store) Reseal(ctx context.Context, host string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		keys, err := store.List(ctx, tx, func(scan store.Scan) (k session.Key, err error) {
			err = scan(&k.BaseURL, &k.Account)
			return k, err
		}, "SELECT base_url, account FROM session ORDER BY base_url, account"+tx.Engine().ForUpdate())
		if err != nil {
			return err
		}
		for _, key := range keys { // what is under way is of an earlier incarnation, and is not stored
			if err := tx.Exec(ctx, `UPDATE session SET incarnation = ?, pair_state = ?, phase = ?, lease_until_ns = 0,
				sealed_access = NULL, sealed_refresh = NULL, blocks = '[]'`+rowWhere,
				newIncarnation(), string(session.None), string(session.Free), key.BaseURL, key.Account); err != nil {
				return err
			}
		}
		return s.seal.Take(ctx, tx, host)
	})
}

// MarkRoute implements session.Store.
func (s *Store) MarkRoute(ctx context.Context, key session.Key, incarnation string, mark session.RouteMark) error {
	_, err := s.change(ctx, key, func(_ *store.Tx, rec *record) error {
		if rec.row.Incarnation != incarnation || rec.row.Gen != mark.Gen {
			return nil
		}
		rec.routes = session.AddRoute(rec.routes, routeAt{mark, rec.now}, func(r routeAt) session.RouteMark {
			return r.RouteMark
		})
		rec.changed = true
		return nil
	})
	return err
}

func lastN[T any](s []T, n int) []T { return slices.Clone(s[max(0, len(s)-n):]) }
