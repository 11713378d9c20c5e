// Package note keeps what people write down about an operation or a customer for their colleagues. Notes stay in
// opdeck's store; none is ever sent to the service.
package note

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
)

const (
	// Most is the maximum of characters in a note.
	Most = 1000
	// Kept is the maximum of notes about one object.
	Kept = 200
)

// The objects of notes.
const (
	Operation = "operation"
	Customer  = "customer"
)

// Note is what a person wrote about an object. It never changes.
type Note struct {
	UID    string         `json:"uid"`
	Object string         `json:"object"` // operation or customer
	ID     string         `json:"id"`     // of the object
	Author string         `json:"author"`
	At     time.Time      `json:"at"`
	Text   untrusted.Text `json:"text"`
}

// Store stores the notes of all processes; scope is the context's service and account.
type Store interface {
	// Put stores a note; its time becomes the store's. It refuses one more than most about its object with ErrFull.
	Put(ctx context.Context, scope string, n Note, most int) (Note, error)
	// About lists the notes about an object, newest first; object "" is any, id "" all objects; at most limit.
	About(ctx context.Context, scope, object, id string, limit int) ([]Note, error)
	// Find lists the notes with a text, in any case and without accents, newest first; at most limit.
	Find(ctx context.Context, scope, text string, limit int) ([]Note, error)
}

// ErrFull is the error of a note to an object that has Kept of them.
var ErrFull = &api.Error{Op: string(api.ActAddNote), Kind: api.Refused,
	Public: fmt.Sprintf("There are %d notes on this already. Nothing was saved.", Kept)}

// Notes writes and reads the notes of one context.
type Notes struct {
	Store Store
	Scope string
	Gate  *api.Gate
}

// Check returns the text of a note as it is stored, or why it cannot be one.
func Check(text string) (string, error) {
	text = strings.TrimSpace(text)
	e := &api.Error{Op: string(api.ActAddNote), Kind: api.Usage, Field: "text"}
	switch n := utf8.RuneCountInString(text); {
	case text == "":
		e.Public = "A note needs a text."
	case n > Most:
		e.Public = fmt.Sprintf("A note has at most %d characters; this one has %d.", Most, n)
	case !utf8.ValidString(text):
		e.Public = "The note is not valid UTF-8."
	default:
		return text, nil
	}
	return "", e
}

// Add writes a note about an object down. The trail records who wrote one about what, without its text.
func (s *Notes) Add(ctx context.Context, object, id, text string) (n Note, err error) {
	if text, err = Check(text); err != nil {
		return n, err
	}
	if err := api.CheckID(object+" id", id); err != nil {
		return n, err
	}
	n = Note{UID: uuid.NewString(), Object: object, ID: id, Author: api.ActorOf(ctx).Name, Text: untrusted.Text(text)}
	act := api.Act{Kind: api.ActAddNote, Object: object, ID: id, Item: n.UID,
		Summary: fmt.Sprintf("Note of %d characters", utf8.RuneCountInString(text))}
	err = s.Gate.Own(ctx, api.MayRead, act, func(string) (err error) {
		n, err = s.Store.Put(context.WithoutCancel(ctx), s.Scope, n, Kept)
		return err
	})
	return shown(ctx, n), err
}

// About lists the notes about an object, newest first; id "" lists those about all.
func (s *Notes) About(ctx context.Context, object, id string) ([]Note, error) {
	list, err := s.Store.About(ctx, s.Scope, object, id, Kept)
	return seen(ctx, list), err
}

// OnOperation lists the notes on an operation and on its customer, if that is known.
func (s *Notes) OnOperation(ctx context.Context, opid, cuid string) ([]Note, error) {
	list, err := s.About(ctx, Operation, opid)
	if err != nil || cuid == "" {
		return list, err
	}
	more, err := s.About(ctx, Customer, cuid)
	return append(list, more...), err
}

// Find lists the notes that contain a text, newest first. A person who sees masked values finds only what they see.
func (s *Notes) Find(ctx context.Context, text string, limit int) ([]Note, error) {
	list, err := s.Store.Find(ctx, s.Scope, text, limit)
	list = slices.DeleteFunc(seen(ctx, list), func(n Note) bool {
		return !strings.Contains(filter.Fold(string(n.Text)), filter.Fold(text))
	})
	return list, err
}

// Of is the first note of a list about an operation, else about its customer.
func Of(op api.Operation, list []Note) (n Note, ok bool) {
	for _, object := range []struct{ object, id string }{{Operation, string(op.OPID)},
		{Customer, string(op.Customer.CUID)}} {
		i := slices.IndexFunc(list, func(n Note) bool { return n.Object == object.object && n.ID == object.id })
		if i >= 0 {
			return list[i], true
		}
	}
	return n, false
}

func seen(ctx context.Context, list []Note) []Note {
	for i := range list {
		list[i] = shown(ctx, list[i])
	}
	return list
}

// shown masks account numbers in the text for a person who may not see them.
func shown(ctx context.Context, n Note) Note {
	if mask.Needed(ctx) {
		n.Text = untrusted.Text(redact.Text(string(n.Text)))
	}
	return n
}
