package evidence

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// kept bounds the conclusions in a Book.
const kept = 500

// Book keeps the newest conclusions of a process for people to read. It is safe for concurrent use; a nil Book keeps
// nothing.
type Book struct {
	mu  sync.Mutex
	all []Conclusion // guarded by mu, oldest first
}

// Add adds a conclusion. It replaces one of the same kind about the same object.
func (b *Book) Add(c Conclusion) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(was Conclusion) bool {
		return strings.EqualFold(was.Object, c.Object) && was.Kind == c.Kind && (!c.many() || was.Says == c.Says)
	})
	if b.all = append(b.all, c); len(b.all) > kept {
		b.all = slices.Delete(b.all, 0, len(b.all)-kept)
	}
}

// many reports that several conclusions of the kind can hold about one object, with different words.
func (c Conclusion) many() bool { return c.Kind == Act || c.Kind == Forbidden }

// About lists the conclusions about an object, newest first, then those about the list and the session; "": all.
func (b *Book) About(object string) (out []Conclusion) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Conclusion
	for _, c := range slices.Backward(b.all) {
		switch {
		case object == "" || strings.EqualFold(c.Object, object):
			out = append(out, c)
		case c.Object == "":
			all = append(all, c)
		}
	}
	return append(out, all...)
}

// ByRead returns the conclusion about the newest write on an object if only a read shows the wanted state; what is Open
// in it says that the request may still arrive.
func (b *Book) ByRead(object string) (Conclusion, bool) {
	for _, c := range b.About(object) {
		if c.Kind == Act && strings.EqualFold(c.Object, object) {
			return c, c.Read
		}
	}
	return Conclusion{}, false
}

type bookKey struct{}

// In makes Note with the returned context add conclusions to b.
func In(ctx context.Context, b *Book) context.Context { return context.WithValue(ctx, bookKey{}, b) }

// Of returns the Book of ctx, nil for none.
func Of(ctx context.Context) *Book {
	b, _ := ctx.Value(bookKey{}).(*Book)
	return b
}

// Note adds a conclusion to the Book of ctx, if it has one.
func Note(ctx context.Context, c Conclusion) { Of(ctx).Add(c) }
