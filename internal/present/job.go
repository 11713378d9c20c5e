package present

import (
	"opdeck/internal/domain/replace"
	"opdeck/internal/field"
)

// steps are how far a replacement came, in words.
var steps = map[replace.Step]string{
	replace.Planned:    "nothing was sent yet",
	replace.Removing:   "the removal was sent, its outcome is unknown",
	replace.Removed:    "the old document is removed, the new one is not uploaded",
	replace.Uploading:  "the old document is removed, the outcome of the upload is unknown",
	replace.Uploaded:   "the old document is removed, the new one is uploaded but not attached",
	replace.Attaching:  "the attachment was sent, its outcome is unknown",
	replace.Abandoning: "it is being abandoned: the old document is restored",
}

// JobStep says how far a replacement came.
func JobStep(j replace.Job) string {
	if words, known := steps[j.Step]; known {
		if !j.Restored.IsZero() {
			words += "; as of the backup of " + j.Restored.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		return words
	}
	return safe(string(j.Step), 60)
}

// JobColumns are the columns of replacements that did not end.
var JobColumns = []Column[replace.Job]{
	textColumn("job", field.Column{}, func(j replace.Job) string { return safe(j.ID, 120) }),
	textColumn("operation", field.Column{}, func(j replace.Job) string { return safe(j.OPID, 120) }),
	textColumn("old document", field.Column{}, func(j replace.Job) string { return safe(j.OldGUID, 120) }),
	textColumn("new file", field.Column{}, func(j replace.Job) string { return safe(j.FileName, 300) }),
	exactly(textColumn("step", field.Column{}, JobStep), func(j replace.Job) string { return safe(string(j.Step), 60) }),
	textColumn("problem", field.Column{}, func(j replace.Job) string { return safe(j.Problem, 2000) }),
}

// AskedResume is what a question about going on with a replacement shows.
func AskedResume(j replace.Job) []Fact {
	return []Fact{{Label: "job", Value: safe(j.ID, 120)}, {Label: "step", Value: JobStep(j), Long: true},
		{Label: "new file", Value: safe(j.FileName, 300), Long: true}}
}
