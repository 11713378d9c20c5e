package records

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

type counterpartyFake struct {
	all   []api.Counterparty
	asked []string
}

func (f *counterpartyFake) get(_ context.Context, id string) (api.Counterparty, error) {
	f.asked = append(f.asked, id)
	for _, p := range f.all {
		if string(p.ID) == id {
			return p, nil
		}
	}
	return api.Counterparty{}, &api.Error{Op: "read counterparty", Kind: api.NotFound, Public: "The service knows no such counterparty."}
}

func (f *counterpartyFake) list(context.Context, api.CounterpartyQuery) (api.Page[api.Counterparty], error) {
	f.asked = append(f.asked, "page")
	return api.Page[api.Counterparty]{Items: f.all, Total: "3"}, nil
}

func (f *counterpartyFake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.GetCounterparty, f.get)
	endpointtest.On(&c, endpoint.ListCounterparties, f.list)
	return &c
}

func counterparty(t testing.TB, body string) api.Counterparty {
	t.Helper()
	var p api.Counterparty
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func counterpartySample(t testing.TB) *counterpartyFake {
	return &counterpartyFake{all: []api.Counterparty{
		counterparty(t, `{"counterpartyId":"UvYqyrDwqI","description":"supplier","createdAt":"2026-02-01T08:00:00Z","updatedAt":"2026-03-02T11:00:00Z",
			"profile":{"name":"Meridian Paper Works","email":"pay@meridian.example","phoneNumber":"+15550009876","taxNumber":"998877665","address":{"addressLine1":"1 Sample Street","city":"Exampleton","countryIso":"US"},
				"additionalInfo":{"type":"CORPORATION"}},
			"customer":{"cuid":"DqCsgSE-4e95","name":"Harbour & Finch"},
			"accounts":[{"accountId":"Uacc1","currencyCode":"EUR","status":"ACCEPT","name":"main","number":"DE89370400440532013000","type":"CHECKING","bank":{"name":"First Example Bank"}},
				{"accountId":"Uacc2","currencyCode":"USD","status":"MODERATION","number":"77665544","bank":{"name":"Second","number":"12345678","routingNumber":"021000021"},"fiat":{"additionalInformation":{"supportedRails":["ACH"]}}}]}`),
		counterparty(t, `{"suid":"Uhook","cuid":"D7","description":"\u202egnp","accounts":[{"suid":"Uacc3","currency_iso":"KWD","status":"BANNED"}]}`),
		counterparty(t, `{"counterpartyId":"Unone","profile":[],"accounts":"later"}`),
	}}
}

func counterpartyFactory(f *counterpartyFake) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen { return NewCounterparties(env, f.caller(), p.ID, p.Arg) }
}

func openCounterparty(t *testing.T, f *counterpartyFake, id string, opts ...shelltest.Option) *uitest.Run {
	t.Helper()
	return shelltest.Open(t, uitest.NewClock(), counterpartyFactory(f), ui.Place{Kind: KindCounterparties, ID: id}, opts...)
}

func TestCounterpartyScreens(t *testing.T) {
	for name, id := range map[string]string{"list": "", "one": "UvYqyrDwqI", "hook": "Uhook", "odd": "Unone", "failed": "x"} {
		for size, wh := range shelltest.Drawn(name, "list", "one") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r := openCounterparty(t, counterpartySample(t), id)
				r.Send(uitest.Size(wh[0], wh[1]))
				golden.RequireEqual(t, []byte(r.View()))
			})
		}
	}
}

// TestWhyAWithdrawalHangs: the list marks the account that is not accepted, can
// be filtered for, and the record says what its status means.
func TestWhyAWithdrawalHangs(t *testing.T) {
	f := counterpartySample(t)
	r := openCounterparty(t, f, "")
	r.Send(uitest.Key("/"), uitest.Type("status:MODERATION"), uitest.Key("enter"))
	r.Has("1 counterparty", "• 1 MODERATION, 1 ACC", "Meridian")
	r.Send(uitest.Key("enter"))
	r.Has("Meridian Paper Works: 1 of 2 accounts accepted, USD MODERATION")
	r.Send(uitest.Size(120, 40))
	r.Has("MODERATION, no result yet")
	if got := strings.Join(f.asked, " "); got != "page UvYqyrDwqI" {
		t.Errorf("asked for %s", got)
	}
}

// TestCounterpartyNumbersAreMasked until they are revealed.
func TestCounterpartyNumbersAreMasked(t *testing.T) {
	r := openCounterparty(t, counterpartySample(t), "UvYqyrDwqI")
	r.Send(uitest.Size(200, 60))
	for _, secret := range []string{"DE8937", "77665544", "12345678", "pay@meridian", "+15550009", "998877665"} {
		if strings.Contains(r.View(), secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	r.Send(uitest.Key("M"))
	r.Has("DE89370400440532013000", "77665544", "12345678", "pay@meridian.example", "998877665")
}

func TestCounterpartyNothingIsSentByKeys(t *testing.T) {
	for _, id := range []string{"", "UvYqyrDwqI"} {
		f := counterpartySample(t)
		shelltest.PressAll(uitest.NewClock(), counterpartyFactory(f), ui.Place{Kind: KindCounterparties, ID: id})
		if len(f.asked) != 0 {
			t.Errorf("asked for %v", f.asked)
		}
		shelltest.Sizes(openCounterparty(t, counterpartySample(t), id))
	}
}
