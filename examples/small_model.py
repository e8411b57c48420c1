"""A small transformer in PyTorch: two training steps on one GPU, something to profile."""

import torch
from torch import nn

WIDTH, HEADS, LAYERS, WORDS = 768, 12, 4, 32_000


def main() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
    model = nn.Sequential(
        nn.Embedding(WORDS, WIDTH), nn.TransformerEncoder(layer, LAYERS), nn.Linear(WIDTH, WORDS)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    words = torch.randint(WORDS, (8, 512), device="cuda")
    for _ in range(2):
        with torch.autocast("cuda", torch.bfloat16):
            guess = model(words)
            loss = nn.functional.cross_entropy(guess.flatten(0, 1), words.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
