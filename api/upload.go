package api

import (
	"mime"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
)

// Upload is a file to upload to a customer's store.
type Upload struct {
	CUID     string
	FileName string // base name
	Content  []byte
	Type     string // for example INVOICE; optional
	Info     string // free description; optional
}

// Size limits by kind, in bytes (service's upload page; its table is cut off, so the service decides on an unlisted
// kind, up to the largest known limit).
const (
	maxPDF, maxImage, maxWord, maxText = 10 << 20, 5 << 20, 5 << 20, 1 << 20
	MaxUpload                          = maxPDF
)

// UploadLimits is the sentence that says what CheckFile accepts.
const UploadLimits = "The service accepts PDF up to 10 MB, JPEG, PNG and Word up to 5 MB, text up to 1 MB."

// MediaType guesses the media type from the file's name and first bytes.
func MediaType(name string, content []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".doc":
		return "application/msword"
	case ".docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case ".txt", ".csv", ".md":
		return "text/plain; charset=utf-8"
	}
	return http.DetectContentType(content)
}

// SizeLimit returns the largest allowed size of that media type, in bytes.
func SizeLimit(mediaType string) int {
	kind, _, _ := mime.ParseMediaType(mediaType)
	switch {
	case kind == "application/pdf":
		return maxPDF
	case kind == "image/jpeg" || kind == "image/png":
		return maxImage
	case strings.Contains(kind, "word"):
		return maxWord
	case strings.HasPrefix(kind, "text/"):
		return maxText
	}
	return MaxUpload
}

// CheckUpload returns an error unless the file is not empty and within the limit of its kind.
func CheckUpload(u Upload) error {
	return CheckFile(u.FileName, int64(len(u.Content)), u.Content)
}

// CheckFile is CheckUpload for a file of size bytes that begins with begins.
func CheckFile(name string, size int64, begins []byte) error {
	const op = "upload document"
	kind := MediaType(name, begins)
	switch limit := int64(SizeLimit(kind)); {
	case size == 0:
		e := Refusal(op, RuleFile, "The file is empty.")
		e.Field = FieldFile
		return e
	case size > limit:
		e := Refusal(op, RuleFile, "The file is too large: it has %s bytes, and the service accepts %s files of up to %s "+
			"bytes (%d MB).",
			humanize.Comma(size), kindWord(kind), humanize.Comma(limit), limit>>20)
		e.Field, e.Unsent = FieldFile, true
		return e
	}
	return nil
}

// kindWord returns a media type without its parameters.
func kindWord(mediaType string) string {
	if kind, _, err := mime.ParseMediaType(mediaType); err == nil {
		return kind
	}
	return mediaType
}
