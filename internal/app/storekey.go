package app

import (
	"context"
	"errors"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store/seal"
)

// storeKey is the key that seals the tokens, as this process has it in memory.
type storeKey struct {
	file  string // "": a store in memory
	check string
	lost  bool      // it takes the place of a lost one (Options.NewStoreKey)
	made  *seal.Key // if lost: it is not in the file yet. nil: it is
}

// openKey reads the key that seals the tokens. A store that a key has sealed gets no other one, unless a person gives
// its tokens up (Options.NewStoreKey).
func (a *App) openKey(ctx context.Context, opt Options) (key seal.Key, err error) {
	core := a.Store.Core
	a.key.file = seal.File(a.Config.Store.KeyFile, core)
	if opt.NewStoreKey {
		made := false
		if key, made, err = seal.NewKey(ctx, a.Config.Store.KeyFile, core); made {
			a.key.made = &key
		}
		a.key.lost = err == nil
	} else if key, err = seal.OpenKey(ctx, a.Config.Store.KeyFile, core); err == nil {
		err = key.Claim(ctx, core, a.key.file, HostName())
	}
	var bad *seal.KeyFileError
	switch {
	case errors.Is(err, seal.ErrFits):
		return key, a.keyFits()
	case errors.As(err, &bad) && bad.Sealed:
		refusal := Concluded(err)
		refusal.Kind = api.BadConfig
		return key, refusal
	case err != nil:
		return key, &api.Error{Kind: api.BadConfig, Public: "The session cannot be set up: " + err.Error(), Err: err}
	}
	a.key.check = key.Check()
	return key, nil
}

// keyFits is the error of NewKey for a key that is not lost.
func (a *App) keyFits() error {
	return &api.Error{Kind: api.Usage, Public: "The key in " + a.key.file + " fits the store; nothing was given up.",
		Hint: "To change the key, put another one into the file or move it away, and run the command again."}
}

// NewKey gives up the tokens that a lost key has sealed, of every account in the store: the key of this process takes
// its place. Processes that have the old one stop. The next call logs in.
func (s SharedSession) NewKey(ctx context.Context) error {
	if !s.app.key.lost {
		return s.app.keyFits()
	}
	return s.act(ctx, api.ActSessionReset, func(ctx context.Context) error {
		if made := s.app.key.made; made != nil {
			if err := made.Save(s.app.key.file); err != nil {
				return err
			}
		}
		if err := s.app.reseal(ctx); err != nil {
			return err
		}
		return s.app.Session.Reset(ctx)
	})
}

// keyFault is the fact of an error about the key; known is false for another error.
func keyFault(err error, now time.Time) (f verdict.Fact[verdict.Key], known bool) {
	var bad *seal.KeyFileError
	switch {
	case errors.Is(err, seal.ErrGivenUp):
		return verdict.Known(verdict.Key{Fault: verdict.KeyGivenUp}, "the store's note of the key", now, readHolds), true
	case errors.As(err, &bad) && bad.Sealed:
		return verdict.Known(verdict.Key{File: bad.Path, Fault: verdict.KeyFault(bad.Fault), Says: bad.Reason},
			"reading "+bad.Path, now, readHolds), true
	}
	return f, false
}

// keyFact is what keeps a new process from the key that this one has in memory.
func (a factReader) keyFact(now time.Time) (none verdict.Fact[verdict.Key]) {
	if a.key.file == "" {
		return none
	}
	key, err := seal.ReadKey(a.key.file)
	var bad *seal.KeyFileError
	if err == nil && key.Check() != a.key.check {
		bad = &seal.KeyFileError{Path: a.key.file, Fault: seal.Other}
	}
	if bad == nil && !errors.As(err, &bad) {
		return none
	}
	return verdict.Known(verdict.Key{File: bad.Path, Fault: verdict.KeyFault(bad.Fault), Says: bad.Reason, Held: true},
		"reading "+bad.Path, now, readHolds)
}
