// Package apitest helps tests of packages that call the service.
package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Contract returns a RoundTripper that checks every request and answer against api/openapi.yaml and reports a
// difference as a test error. Paths that the document lacks (the sandbox's own) and answers that end early are not
// checked. Bodies are read whole; the caller gets them unchanged.
func Contract(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	router, err := document()
	if err != nil {
		t.Fatalf("api/openapi.yaml: %v", err)
	}
	return &contract{t: t, next: next, router: router}
}

type contract struct {
	t      testing.TB
	next   http.RoundTripper
	router routers.Router
}

// document loads the contract once; it is not changed afterwards.
var document = sync.OnceValues(load)

func load() (routers.Router, error) {
	file, err := find()
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"application/pdf", "image/png", "image/jpeg", "application/msword",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(file)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
}

// find searches for the document from the test's folder upwards.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		file := filepath.Join(dir, "api", "openapi.yaml")
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("not found above the working folder")
		}
		dir = parent
	}
}

// RoundTrip sends r and checks both directions.
func (c *contract) RoundTrip(r *http.Request) (*http.Response, error) {
	// The router matches host and path like a server.
	check := r.Clone(context.WithoutCancel(r.Context()))
	route, params, err := c.router.FindRoute(check)
	if err != nil {
		return c.unknown(r, err)
	}
	body, err := drain(r.Body)
	if err != nil {
		return nil, err
	}
	sent := r.Clone(r.Context())
	if r.Body != nil {
		check.Body, sent.Body = replay(body), replay(body)
	}
	in := &openapi3filter.RequestValidationInput{Request: check, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError: true, IncludeResponseStatus: true, SkipSettingDefaults: true, AuthenticationFunc: bearer}}
	requestError := openapi3filter.ValidateRequest(check.Context(), in)
	resp, err := c.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	// A request that breaks the contract may be a test of the refusal.
	if requestError != nil && resp.StatusCode < 400 {
		c.t.Errorf("%s %s breaks the contract but was taken: %v", r.Method, route.Path, requestError)
	}
	return c.answer(in, resp)
}

// unknown checks that a /v2 path or method that the document lacks is refused.
func (c *contract) unknown(r *http.Request, cause error) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && resp.StatusCode < 400 && strings.HasPrefix(r.URL.Path, "/v2/") {
		c.t.Errorf("%s %s is not in the contract: %v", r.Method, r.URL.Path, cause)
	}
	return resp, err
}

func (c *contract) answer(in *openapi3filter.RequestValidationInput, resp *http.Response) (*http.Response, error) {
	body, err := drain(resp.Body)
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return resp, nil
	}
	resp.Body = replay(body)
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode,
		Header: resp.Header, Body: replay(body), Options: in.Options}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		bare := *in.Options
		bare.ExcludeResponseBody = resp.StatusCode < 300
		out.Options = &bare
	}
	if err := openapi3filter.ValidateResponse(in.Request.Context(), out); err != nil {
		c.t.Errorf("the answer %d to %s %s breaks the contract: %v", resp.StatusCode, in.Request.Method, in.Route.Path, err)
	}
	return resp, nil
}

// bearer requires the header of the document's security scheme.
func bearer(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	if !strings.HasPrefix(in.RequestValidationInput.Request.Header.Get("Authorization"), "Bearer ") {
		return fmt.Errorf("no access token in Authorization")
	}
	return nil
}

func drain(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	defer body.Close()
	return io.ReadAll(body)
}

func replay(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

// failing is the end of an answer that was cut off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
