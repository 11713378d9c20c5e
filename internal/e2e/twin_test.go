//go:build linux

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
)

// TestReplaceNeverAttachesTheFileOfAnother: the upload of a replacement is lost, and at the same moment a colleague
// uploads other content with the same name and size. That file is not proof of the upload, and is not attached.
func TestReplaceNeverAttachesTheFileOfAnother(t *testing.T) {
	t.Parallel()
	w := newOtherWorld(t)
	op, twin := w.newOperation(), uuid.NewString()
	old := w.documentOf(op)
	w.answers(api.ActUploadDocument, otherAnswer{undone: true, way: "drop"})
	w.mu.Lock()
	w.came = func(kind api.ActKind) { // the service is locked
		if kind == api.ActUploadDocument {
			c := w.customers[op.cuid]
			c.files = append(c.files, otherFile{twin, "new.pdf", len("%PDF-1.4\nours\n"), time.Now(), []byte("%PDF-1.4\nTHEM\n")})
		}
	}
	w.mu.Unlock()
	got := w.run("document", "replace", op.opid, old, w.file("new.pdf", "%PDF-1.4\nours\n"), "--yes")
	w.mu.Lock()
	w.came = nil
	w.mu.Unlock()
	w.answers(api.ActUploadDocument, otherAnswer{})
	job := w.jobOf(op.opid)
	resumed := w.run("document", "resume", job, "--yes")
	w.mu.Lock()
	defer w.mu.Unlock()
	if got.code == 0 || resumed.code == 0 || job == "" ||
		slices.ContainsFunc(op.documents, func(d otherFile) bool { return d.id == twin }) {
		t.Errorf("replace: %d\n%s%s\nresume of %q: %d\n%s%s\ndocuments: %v", got.code, got.out, got.err, job, resumed.code,
			resumed.out, resumed.err, op.documents)
	}
}
