package mask

import (
	"context"

	"opdeck/api"
)

// revealKey marks a context in which values are not masked.
type revealKey struct{}

// Needed reports whether values are masked in ctx. They are, unless the role of the person
// may reveal them and the context is one that Reveal or ByCaller returned.
func Needed(ctx context.Context) bool {
	unmasked, _ := ctx.Value(revealKey{}).(bool)
	return !unmasked || Barred(ctx)
}

// Barred reports whether the person in ctx may not reveal masked values at all; a context
// that names no one is barred too. Filters then find nothing by what the mask hides.
func Barred(ctx context.Context) bool { return !api.ActorOf(ctx).Role.May(api.MayReveal) }

// Reveal records e in the trail and then returns a context in which values are not masked,
// for the one answer that e names. The error is a refusal: by role, or because the trail
// cannot be written.
func Reveal(ctx context.Context, trail api.Auditor, e api.Event) (context.Context, error) {
	if err := Record(ctx, trail, e); err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, revealKey{}, true), nil
}

// Record is Reveal for a caller that masks when it draws: after it, the caller may show the
// values.
func Record(ctx context.Context, trail api.Auditor, e api.Event) error {
	if err := api.Need(ctx, e.Name, api.MayReveal); err != nil {
		return err
	}
	if err := trail.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return api.NotRecorded(e.Name, "nothing is revealed", err)
	}
	return nil
}

// ByCaller leaves masking to the caller: to the console, which masks each time that it draws,
// and to code that uses values and shows none of them.
func ByCaller(ctx context.Context) context.Context { return context.WithValue(ctx, revealKey{}, true) }

// Again ends what Reveal and ByCaller began: values are masked.
func Again(ctx context.Context) context.Context { return context.WithValue(ctx, revealKey{}, false) }
