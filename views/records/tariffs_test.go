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

// tariffFake answers with three payment limits and three commissions.
func tariffFake(t testing.TB) *endpointtest.Fake {
	f := new(endpointtest.Fake)
	answer := func(bodies ...string) func(context.Context, api.TariffQuery) (api.Page[api.Tariff], error) {
		return func(context.Context, api.TariffQuery) (api.Page[api.Tariff], error) {
			out := api.Page[api.Tariff]{Total: "3"}
			for _, b := range bodies {
				var one api.Tariff
				if err := json.Unmarshal([]byte(b), &one); err != nil {
					t.Fatal(err)
				}
				out.Items = append(out.Items, one)
			}
			return out, nil
		}
	}
	endpointtest.On(f, endpoint.ListPaymentLimits, answer(
		`{"id":1,"currencyIsoFrom":"EUR","currencyIsoTo":"EUR","dailyLimit":{"sum":{"currencyCode":"EUR","units":"250000","nanos":0}},"customerId":"DqCsgSE-4e95"}`,
		`{"id":"2","currencyIsoFrom":"\u202eUSD","max":99999999999999999999.5,"note":"a\u001b[2Jb"}`, `{"moon":true}`))
	endpointtest.On(f, endpoint.ListCommissions, answer(
		`{"currencyIsoFrom":"USD","currencyIsoTo":"EUR","operationType":"EXCHANGE","paymentType":"EMPTY","percent":0.1,"fixed":"15.000"}`,
		`{"currencyIsoFrom":"USD","currencyIsoTo":"EUR","percent":1e-7,"fixed":null}`, `{"percent":{"x":1}}`))
	return f
}

func tariffFactory(f endpoint.Caller) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen {
		if p.Kind == KindLimits {
			return NewLimits(env, f, p.Arg)
		}
		return NewCommissions(env, f, p.Arg)
	}
}

func TestTariffScreens(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		keys []string
	}{"limits": {KindLimits, nil}, "limit": {KindLimits, []string{"j", "enter"}}, "commissions": {KindCommissions, nil}} {
		for size, wh := range shelltest.Drawn(name, "commissions") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r := shelltest.Open(t, uitest.NewClock(), tariffFactory(tariffFake(t)), ui.Place{Kind: c.kind})
				r.Send(uitest.Size(wh[0], wh[1]), uitest.Keys(c.keys...))
				golden.RequireEqual(t, []byte(r.View()))
			})
		}
	}
}

// TestTariffNumbersStayToTheLetter: no digit is lost, and rules without an id are distinct.
func TestTariffNumbersStayToTheLetter(t *testing.T) {
	f := tariffFake(t)
	r := shelltest.Open(t, uitest.NewClock(), tariffFactory(f), ui.Place{Kind: KindCommissions})
	r.Send(uitest.Size(160, 45))
	for _, want := range []string{"0.1", "15.000", "1e-7", "3 commissions"} {
		if !strings.Contains(r.View(), want) {
			t.Errorf("%q is not on screen\n%s", want, r.View())
		}
	}
	r.Send(uitest.Key("enter"), uitest.Key("esc"), uitest.Key("j"))
	if !strings.Contains(r.View(), "2 of 3") || f.Calls("") != 1 {
		t.Errorf("%d calls\n%s", f.Calls(""), r.View())
	}
}

func TestTariffNothingIsSentByKeys(t *testing.T) {
	f := tariffFake(t)
	shelltest.PressAll(uitest.NewClock(), tariffFactory(f), ui.Place{Kind: KindLimits})
	if f.Calls("") != 0 {
		t.Errorf("%d calls", f.Calls(""))
	}
	shelltest.Sizes(shelltest.Open(t, uitest.NewClock(), tariffFactory(f), ui.Place{Kind: KindLimits}))
}
