package events

import (
	"context"
	"errors"

	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/index/filter"
)

// parse reads a filter for the person of ctx.
func parse(ctx context.Context, s string) (eventfilter.Expr, *filter.Error) {
	e, err := eventfilter.Parse(s)
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		return eventfilter.Expr{}, wrong
	}
	return e.For(ctx), nil
}
