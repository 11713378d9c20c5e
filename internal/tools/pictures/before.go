package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/receiver/receivertest"
)

// hookSecret signs the deliveries of the events' picture.
const hookSecret = "Zk3!x9-Qv7_Lm2@Rt5#Yp8$Wn4%Bc6&H"

// deliver delivers some webhooks: signed ones, one twice, and a forged one.
func deliver(ctx context.Context, a *app.App, ids []string) error {
	env := func(string) string { return hookSecret }
	rec, err := a.Hooks().Receiver(env, true)
	if err != nil {
		return err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	post := func(body []byte, signed bool) error {
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, a.Config.Webhooks.Path, bytes.NewReader(body))
		if signed {
			receivertest.Sign(req.Header, a.Config.Webhooks.Header, "", hookSecret, body, a.Now())
		}
		w := httptest.NewRecorder()
		if rec.ServeHTTP(w, req); signed && w.Code/100 != 2 {
			return fmt.Errorf("a delivery was answered %d", w.Code)
		}
		return nil
	}
	for n, id := range ids[:min(12, len(ids))] {
		body := fmt.Appendf(nil, `{"hook_id":"%08x-0000-4000-8000-%012x","hook_type":1,`+
			`"Data":{"Operation":{"opid":"%s","cuid":"C%03d","status":%d,"type":3,"updated_at":{"seconds":%d}}}}`,
			0x5e11+n*7919, n+1, id, n+1, 1+n%3, noon.Unix()-int64(60*n))
		if err := post(body, n != 5); err != nil {
			return err
		}
		if n == 3 {
			if err := post(body, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// request files writes that another person has to approve.
func request(ctx context.Context, a *app.App, _ []string) error {
	ctx = api.WithActor(ctx, api.Actor{Name: "ben", Role: api.Operator, Via: "command", From: "desk", UID: "1001",
		Host: "desk"})
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 100})
	if err != nil {
		return err
	}
	asked := 0
	for _, op := range page.Items {
		for _, d := range op.Documents {
			if d.Lock.Is() || asked == 3 {
				continue
			}
			if _, err := endpoint.Do(ctx, a.Client, endpoint.RemoveDocument, api.RemoveDocument{OPID: string(op.OPID),
				GUID: string(d.GUID)}); err != nil {
				asked++
			}
			break
		}
	}
	if asked == 0 {
		return fmt.Errorf("no write was held back for a second person")
	}
	return nil
}

// production is a context in which removals must be confirmed by typing; the service is the built-in one.
func production(_ context.Context, a *app.App, _ []string) error {
	a.Context.Sandbox, a.Context.Kind = false, config.Production
	return nil
}

// refuseUploads makes the service refuse uploads.
func refuseUploads(_ context.Context, a *app.App, _ []string) error {
	return misbehave(a, "status=upload:400/=The%20file%20is%20damaged.")
}
