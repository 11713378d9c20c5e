package evidence

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// kept is how many conclusions a Book holds.
const kept = 500

// Book keeps the newest conclusions of a process, so that people can ask for them. It is safe
// for concurrent use; a nil Book keeps nothing.
type Book struct {
	mu  sync.Mutex
	all []Conclusion // guarded by mu, oldest first
}

// Add keeps a conclusion. It replaces what was said of the same object in the same words.
func (b *Book) Add(c Conclusion) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(was Conclusion) bool {
		return strings.EqualFold(was.Object, c.Object) && was.Says == c.Says
	})
	if b.all = append(b.all, c); len(b.all) > kept {
		b.all = slices.Delete(b.all, 0, len(b.all)-kept)
	}
}

// About lists what was concluded of an object, newest first; "": of all.
func (b *Book) About(object string) (out []Conclusion) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range slices.Backward(b.all) {
		if object == "" || strings.EqualFold(c.Object, object) {
			out = append(out, c)
		}
	}
	return out
}

type bookKey struct{}

// In makes what is concluded in the returned context go to b too.
func In(ctx context.Context, b *Book) context.Context { return context.WithValue(ctx, bookKey{}, b) }

// Of is the Book of ctx, nil for none.
func Of(ctx context.Context) *Book {
	b, _ := ctx.Value(bookKey{}).(*Book)
	return b
}

// Note keeps a conclusion in the Book of ctx, if it has one.
func Note(ctx context.Context, c Conclusion) { Of(ctx).Add(c) }
