package sandbox

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
)

// leastPicture is how large a sample picture is at least, in bytes: what is encoded has
// room in it.
const leastPicture = 24 << 10

// samplePicture is a picture of that media type, different for each id: a receipt as a
// PNG, an identity card as a JPEG; nil for other types.
func samplePicture(mime string, id [16]byte) []byte {
	var b bytes.Buffer
	var err error
	switch mime {
	case "image/png":
		err = png.Encode(&b, receipt(id))
	case "image/jpeg":
		err = jpeg.Encode(&b, card(id), &jpeg.Options{Quality: 70})
	}
	if err != nil {
		return nil
	}
	return b.Bytes()
}

var (
	paper = color.RGBA{250, 248, 240, 255}
	ink   = color.RGBA{40, 44, 52, 255}
)

// tint is a colour made of an id.
func tint(id [16]byte, from int) color.RGBA {
	return color.RGBA{60 + id[from]/2, 60 + id[from+1]/2, 60 + id[from+2]/2, 255}
}

func fill(img *image.RGBA, x, y, w, h int, c color.RGBA) {
	for at := range w * h {
		img.SetRGBA(x+at%w, y+at/w, c)
	}
}

// receipt is a page with a coloured head, lines of writing, and a sum.
func receipt(id [16]byte) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 360, 480))
	fill(img, 0, 0, 360, 480, color.RGBA{90, 95, 105, 255})
	fill(img, 30, 20, 300, 440, paper)
	fill(img, 30, 20, 300, 60, tint(id, 0))
	for i := range 9 {
		y := 110 + 28*i
		fill(img, 55, y, 60+int(id[i])/2, 10, ink)
		fill(img, 260, y, 45, 10, ink)
	}
	fill(img, 55, 385, 250, 4, ink)
	fill(img, 215, 405, 90, 22, tint(id, 0))
	return img
}

// card is an identity card: a portrait beside lines of writing.
func card(id [16]byte) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 480, 320))
	fill(img, 0, 0, 480, 320, tint(id, 3))
	fill(img, 20, 20, 440, 280, paper)
	fill(img, 20, 20, 440, 46, tint(id, 6))
	fill(img, 45, 90, 140, 180, color.RGBA{190, 205, 220, 255})
	for y := 90; y < 270; y++ {
		for x := 45; x < 185; x++ {
			dx, head, body := x-115, y-150, y-290
			if dx*dx+head*head < 38*38 {
				img.SetRGBA(x, y, color.RGBA{225, 180, 150, 255})
			} else if dx*dx+body*body < 90*90 {
				img.SetRGBA(x, y, tint(id, 9))
			}
		}
	}
	for i := range 6 {
		fill(img, 215, 95+30*i, 80+int(id[10+i])/2, 12, ink)
	}
	return img
}
