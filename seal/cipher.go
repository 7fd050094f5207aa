package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
)

// cipherKey is a key ready for use.
type cipherKey struct {
	id     string
	values cipher.Block // under the key of XAES-256-GCM
	mask   [aes.BlockSize]byte
	nonces []byte // of SealSame
}

func newCipherKey(k Key) (*cipherKey, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	// One secret, two uses: neither key says anything about the other.
	values, err := hkdf.Key(sha256.New, k.Secret, nil, "ax seal 1: values", secretSize)
	if err != nil {
		return nil, err
	}
	nonces, err := hkdf.Key(sha256.New, k.Secret, nil, "ax seal 1: nonces", secretSize)
	if err != nil {
		return nil, err
	}
	c := &cipherKey{id: k.ID, nonces: nonces}
	if c.values, err = aes.NewCipher(values); err != nil {
		return nil, err
	}
	c.mask = maskOf(c.values)
	return c, nil
}

// maskOf is the subkey K1 of CMAC: what the key makes of a block of zeros, doubled in GF(2^128).
func maskOf(b cipher.Block) (k1 [aes.BlockSize]byte) {
	b.Encrypt(k1[:], k1[:])
	var carry byte
	for i := len(k1) - 1; i >= 0; i-- {
		carry, k1[i] = k1[i]>>7, k1[i]<<1|carry
	}
	k1[len(k1)-1] ^= carry * 0x87
	return k1
}

// aead is XAES-256-GCM of C2SP for one nonce: AES-256-GCM under a key derived from the first half
// of the nonce, to be used with its second half. With nonces of 96 bits a random one repeats too
// soon: at 50,000 values a second the limit of 2^32 is reached within a day.
func (c *cipherKey) aead(nonce *[nonceSize]byte) cipher.AEAD {
	var key [secretSize]byte
	for i := range 2 {
		half := key[i*aes.BlockSize:][:aes.BlockSize]
		half[1], half[2] = byte(i+1), 'X'
		copy(half[4:], nonce[:12])
		for j := range half {
			half[j] ^= c.mask[j]
		}
		c.values.Encrypt(half, half)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return gcm
}

// additional is what a value is bound to, with its own header.
func (c *cipherKey) additional(to Binding) []byte {
	return append(append([]byte(header(c.id)), to.use), to.kind...)
}

func (c *cipherKey) seal(to Binding, nonce *[nonceSize]byte, plain []byte) []byte {
	head := header(c.id)
	out := make([]byte, 0, len(head)+nonceSize+len(plain)+tagSize)
	out = append(append(out, head...), nonce[:]...)
	return c.aead(nonce).Seal(out, nonce[12:], plain, c.additional(to))
}

func (c *cipherKey) open(to Binding, nonce [nonceSize]byte, sealed []byte) ([]byte, error) {
	plain, err := c.aead(&nonce).Open(nil, nonce[12:], sealed, c.additional(to))
	if err != nil {
		return nil, ErrDamaged // the reason is always the same, and says less
	}
	return plain, nil
}
