package events

import (
	"context"
	"errors"

	"opdeck/internal/eventfilter"
	language "opdeck/internal/index/filter"
)

// parse reads a filter for the person of ctx.
func parse(ctx context.Context, s string) (eventfilter.Expr, *language.Error) {
	e, err := eventfilter.Parse(s)
	var wrong *language.Error
	if errors.As(err, &wrong) {
		return eventfilter.Expr{}, wrong
	}
	return eventfilter.For(ctx, e), nil
}
