package app

import (
	"context"

	"opdeck/internal/domain/verdict"
)

// Facts returns what a verdict rests on, from the store and this process. It makes no call to the service.
func Facts(ctx context.Context, a *App) verdict.Facts { return factReader{a}.all(ctx) }
