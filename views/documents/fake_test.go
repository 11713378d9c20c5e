package documents

import (
	"context"
	"io/fs"
	"slices"
	"strconv"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/replace"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

const opid = "5b55db86-17e5-4612-81f9-29d3bd5082a1"

// fake is a client of functions; one that is left nil panics in the test that
// calls it. calls counts them all.
type fake struct {
	op      api.Operation
	calls   int
	remove  func(api.RemoveDocument) (api.Operation, error)
	consent func(api.Consent) // of each removal; nil: no one asks
	attach  func(guid, name string) (api.Operation, error)
	upload  func(path string) (api.CustomerFile, error)
	jobs    []replace.Job
	open    []followup.Row
	gone    map[string]time.Time // removed by us
	err     error

	files []api.CustomerFile // of the customer
	aPage int                // files of a page; 0: 100
	seen  []untrusted.Text   // types of documents
	saved []string           // paths

	described []string // type and info of each upload
	dir       string   // of the files of replacements
}

func (f *fake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.GetOperation, func(context.Context, string) (api.Operation, error) {
		f.calls++
		return f.op, f.err
	})
	endpointtest.On(&c, endpoint.ListFiles, f.list)
	endpointtest.On(&c, endpoint.RemoveDocument, func(ctx context.Context, r api.RemoveDocument) (api.Operation, error) {
		f.calls++
		if f.consent != nil {
			f.consent(api.ConsentOf(ctx))
		}
		return f.remove(r)
	})
	endpointtest.On(&c, endpoint.AttachDocument, func(_ context.Context, a endpoint.Attachment) (api.Operation, error) {
		f.calls++
		return f.attach(a.GUID, a.Name)
	})
	endpointtest.On(&c, endpoint.UploadDocument, func(_ context.Context, u api.Upload) (api.CustomerFile, error) {
		f.calls++
		f.described = append(f.described, u.Type+"|"+u.Info)
		return f.upload(u.FileName)
	})
	return &c
}

func (f *fake) parts() Parts {
	known := ui.Known{MaxAge: time.Minute, Phase: api.Operation.Phase, Get: func(context.Context, string) (api.Operation,
		time.Time, bool) {
		f.calls++
		return api.Operation{}, time.Time{}, false
	}}
	return Parts{Known: known, Save: f.save, Read: f.read, Jobs: &replace.Jobs{Store: f, Client: f.caller(), Dir: f.dir, Now: time.Now},
		Unfinished: func(ctx context.Context, _ string) ([]replace.Job, error) { return f.Unfinished(ctx) }, Types: f.DocumentTypes,
		Removed: func(context.Context, string) (map[string]time.Time, error) { return f.gone, nil },
		Open: func(context.Context, string) ([]followup.Row, error) {
			f.calls++
			return f.open, nil
		}}
}

func (f *fake) list(_ context.Context, q endpoint.FileQuery) (api.Page[api.CustomerFile], error) {
	f.calls++
	if f.aPage == 0 {
		f.aPage = 100
	}
	from := min(q.Page*f.aPage, len(f.files))
	return api.Page[api.CustomerFile]{Items: f.files[from:min(from+f.aPage, len(f.files))],
		Total: api.Number(strconv.Itoa(len(f.files)))}, f.err
}

func (f *fake) save(_ context.Context, _, _, path string, over bool) (string, error) {
	f.calls++
	if f.saved = append(f.saved, path); !over && len(f.saved) == 1 {
		return path, fs.ErrExist
	}
	return path, nil
}
func (f *fake) read(_ context.Context, path string) (api.Upload, error) {
	return api.Upload{FileName: path, Content: []byte("%PDF-1.4 new")}, nil
}

// Save, Unfinished and Job implement replace.Store.
func (f *fake) Save(_ context.Context, j replace.Job, _ time.Time) error {
	f.calls++
	f.jobs = slices.DeleteFunc(slices.Clone(f.jobs), func(o replace.Job) bool { return o.ID == j.ID })
	if !j.Step.Ended() {
		f.jobs = append(f.jobs, j)
	}
	return nil
}
func (f *fake) Unfinished(context.Context) ([]replace.Job, error) {
	f.calls++
	return f.jobs, nil
}
func (f *fake) Job(_ context.Context, id string) (replace.Job, error) {
	f.calls++
	if i := slices.IndexFunc(f.jobs, func(j replace.Job) bool { return j.ID == id }); i >= 0 {
		return f.jobs[i], nil
	}
	return replace.Job{}, api.Refusal("replace document", "", "There is no such job.")
}
func (f *fake) DocumentTypes(context.Context) ([]untrusted.Text, error) { return f.seen, nil }

func without(op api.Operation, guid string) api.Operation {
	var docs []api.Document
	for _, d := range op.Documents {
		if string(d.GUID) != guid {
			docs = append(docs, d)
		}
	}
	op.Documents = docs
	return op
}

func open(t *testing.T, f *fake, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	factory := func(env *ui.Env, p ui.Place) ui.Screen { return NewScreen(env, f.caller(), f.parts(), p.ID) }
	return shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindDocuments, ID: opid}, opts...), clock
}
