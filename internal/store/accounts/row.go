package accounts

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/seal"
)

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
