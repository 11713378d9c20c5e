package console

import (
	"context"

	"opdeck/internal/domain/journey"
)

// journeys are the customers' verifications, with what operations call the customer.
type journeys struct {
	*journey.Service
	find *finder
}

// Read is the service's own, with the other names of the customer.
func (j journeys) Read(ctx context.Context, cuid string) (journey.Journey, error) {
	out, err := j.Service.Read(ctx, cuid)
	if err == nil {
		out.Named = j.find.otherNames(ctx, out.Customer, cuid)
	}
	return out, err
}

// Unfinished lists what was started, not finalized.
func (j journeys) Unfinished(ctx context.Context) ([]journey.Record, error) {
	return j.Store.UnfinishedJourneys(ctx)
}
