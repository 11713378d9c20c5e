package seal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"opdeck/internal/store"
)

// use is the note in a store of the key that seals its data. An earlier version kept it for PostgreSQL only.
type use struct {
	Check string `json:"check"` // Key.Check
	Host  string `json:"host"`  // on which it was first used

	sealed bool // the store has data that a key seals
	tokens []sealedToken
}

type sealedToken struct {
	sealed []byte
	at     Place
}

const noteWhere = " WHERE scope = '' AND part = 'key_file' AND name = 'check'"

// noted reads the note; an empty one if there is none.
func noted(ctx context.Context, q store.Querier) (of use, err error) {
	var body []byte
	err = q.QueryRow(ctx, "SELECT body FROM observation"+noteWhere).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return use{}, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &of)
	}
	return of, err
}

// sealing is the note of a store of any version, and the tokens in it where there is no note.
func sealing(ctx context.Context, core *store.DB) (of use, err error) {
	if core.Engine() == store.SQLite { // before a migration
		var tables int
		err = core.QueryRow(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('session', 'observation')").Scan(&tables)
		if err != nil || tables == 0 {
			return use{}, err
		}
		if tables == 2 {
			of, err = noted(ctx, core)
		}
	} else {
		of, err = noted(ctx, core)
	}
	if err != nil || of.Check != "" {
		of.sealed = err == nil
		return of, err
	}
	of.tokens, err = store.List(ctx, core, func(scan store.Scan) (t sealedToken, err error) {
		err = scan(&t.at.Key.BaseURL, &t.at.Key.Account, &t.at.Incarnation, &t.at.Gen, &t.sealed)
		t.at.Token = "access"
		return t, err
	}, "SELECT base_url, account, incarnation, gen, sealed_access FROM session WHERE sealed_access IS NOT NULL")
	of.sealed = len(of.tokens) > 0
	return of, err
}

// fits returns a *KeyFileError unless key is the one that seals the store's data. Without a note it is if it opens a
// token.
func (of use) fits(key Key, file string) error {
	other := &KeyFileError{Path: file, Fault: Other, Sealed: true, Reason: "holds another key than the one that " +
		"seals the data of the store"}
	switch {
	case of.Check == key.Check(), !of.sealed:
		return nil
	case of.Check != "":
		return other
	}
	s, err := New(key)
	for _, t := range of.tokens {
		if _, closed := s.Open(t.sealed, t.at); closed == nil {
			return err
		}
	}
	return other
}

// Claim notes that k seals the data of core from now on, unless there is a note; one of another key is a *KeyFileError
// about file.
func (k Key) Claim(ctx context.Context, core *store.DB, file, host string) error {
	of, err := noted(ctx, core)
	if err == nil && of.Check == "" {
		if err = core.Write(ctx, func(tx *store.Tx) error { return k.note(ctx, tx, host, "NOTHING") }); err == nil {
			of, err = noted(ctx, core)
		}
	}
	if err != nil {
		return err
	}
	of.sealed = true
	return of.fits(k, file)
}

// Take notes in tx that the key of s seals the data of the store from now on: the caller removes what another key has
// sealed.
func (s *Sealer) Take(ctx context.Context, tx *store.Tx, host string) error {
	return s.key.note(ctx, tx, host, "UPDATE SET body = excluded.body, seen_us = excluded.seen_us")
}

func (k Key) note(ctx context.Context, tx *store.Tx, host, conflict string) error {
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(use{Check: k.Check(), Host: host})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return tx.Exec(ctx, `INSERT INTO observation (scope, part, name, body, seen_us) VALUES ('', 'key_file', 'check', ?, ?)
ON CONFLICT (scope, part, name) DO `+conflict, string(body), now.UnixMicro())
}

// InUse returns ErrGivenUp if another key than that of s seals the data of the store by now. It is for what s cannot
// open, and before something new is sealed.
func (s *Sealer) InUse(ctx context.Context, q store.Querier) error {
	of, err := noted(ctx, q)
	if err == nil && of.Check != "" && of.Check != s.key.Check() {
		return ErrGivenUp
	}
	return err
}
